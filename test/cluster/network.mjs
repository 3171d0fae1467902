import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { asOther } from './packages.mjs'

/** The address of this side, and of a node. */
export const HERE = '10.77.0.1'
const addressOf = (place) => `10.77.0.${10 + place}`

const INSIDE = 'CLUSTER_NETWORK'
const ip = (...words) => void execFileSync('ip', words, { stdio: ['ignore', 'inherit', 'inherit'] })

/**
 * Runs this process again in a network of its own, unless it is there: nothing outside of it can be reached or harmed.
 * Nobody has to be root for that.
 */
export function enterNetwork() {
  if (process.env[INSIDE]) return
  const words = process.getuid() === 0 ? ['--net'] : ['--net', '--map-current-user', '--keep-caps']
  const { status } = spawnSync('unshare', [...words, process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: 'yes' },
  })
  process.exit(status ?? 1)
}

/** Makes a switch, and a machine on it for each place: its address, what starts a program there, and its cable. */
export async function startNetwork(places) {
  ip('link', 'set', 'lo', 'up')
  ip('link', 'add', 'name', 'switch', 'type', 'bridge')
  ip('address', 'add', `${HERE}/24`, 'dev', 'switch')
  ip('link', 'set', 'switch', 'up')
  return Promise.all(places.map(startMachine))
}

async function startMachine(place) {
  const holder = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' })
  process.on('exit', () => holder.kill('SIGKILL'))
  const network = `/proc/${holder.pid}/ns/net`
  const own = await readlink('/proc/self/ns/net')
  while ((await readlink(network)) === own) await sleep(10)
  const cable = `cable${place}`
  const inside = (...words) => ['nsenter', [`--net=${network}`, ...words]]
  const ipInside = (...words) => void execFileSync(...inside('ip', ...words))
  ip('link', 'add', 'dev', cable, 'type', 'veth', 'peer', 'name', 'cable', 'netns', String(holder.pid))
  ip('link', 'set', cable, 'master', 'switch', 'up')
  ipInside('link', 'set', 'lo', 'up')
  ipInside('address', 'add', `${addressOf(place)}/24`, 'dev', 'cable')
  ipInside('link', 'set', 'cable', 'up')
  const { uid, gid } = asOther()
  const who = uid === undefined ? [] : [`--setuid=${uid}`, `--setgid=${gid}`]
  return {
    host: addressOf(place),
    /** The words of a command that runs there. */
    command: (program, args) => inside(...who, program, ...args),
    pull: () => ip('link', 'set', cable, 'down'),
    plug: () => ip('link', 'set', cable, 'up'),
  }
}
