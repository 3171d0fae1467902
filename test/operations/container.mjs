import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findPort, untilListening } from '../cluster/start-pgbouncer.mjs'
import { createProject, pack, root } from '../support/packed.mjs'
import { config } from './proxies/checks.mjs'
import { createOpenFolder, readExample } from './proxies/deployment.mjs'

/** The user of the image, who owns nothing but the folder of data. */
const USER = 65_534

/** The command of `examples/deployment/Dockerfile`, with the program, the port and the folder of data of this test. */
async function readCommand(port) {
  const text = await readExample('Dockerfile')
  const read = (word) => JSON.parse(new RegExp(`^${word} (\\[.*\\])$`, 'm').exec(text)[1])
  const replaced = { node: process.execPath, 3000: String(port), '/data/app.db': '/mnt/app.db' }
  return [...read('ENTRYPOINT'), ...read('CMD')].map((arg) => replaced[arg] ?? arg)
}

/**
 * Starts a command as a container does: as process 1 of a namespace of processes, as a user without rights, with an
 * empty environment, on a root that cannot be written except for `/tmp` (in memory) and the folder of data, `/mnt`.
 */
function startContained(command, { app, data }) {
  const script = [
    'set -e',
    `mount --bind ${app} /srv`,
    `mount --bind ${data} /mnt`,
    'mount -t tmpfs -o mode=1777 tmpfs /tmp',
    'mount -o remount,ro,bind /srv',
    'mount -o remount,ro,bind /',
    'mount -t proc proc /proc',
    'cd /srv',
    `exec setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs --bounding-set=-all env -i "$@"`,
  ]
  const child = spawn(
    'unshare',
    ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script.join('\n'), 'sh', ...command],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const printed = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => printed.push(...String(text).trim().split('\n')))
  const ended = once(child, 'exit')
  return { child, printed, ended }
}

/** Finds the process that runs the command: the only child of `unshare`. */
async function findCommand({ pid }) {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return Number(children.trim())
}

/** Runs the command of the Dockerfile as a container does, with a request that is running when SIGTERM arrives. */
export async function operate() {
  const folder = await createOpenFolder('container')
  const rows = []
  const check = async (what, work) => {
    try {
      rows.push({ isRight: true, cells: [what, await work()] })
    } catch (error) {
      rows.push({ isRight: false, cells: [what, String(error.message).split('\n')[0]] })
    }
  }
  try {
    const app = join(folder, 'app')
    const data = join(folder, 'data')
    await createProject(app, { tarball: await pack(folder) })
    // The driver that is already built for this machine.
    for (const name of ['better-sqlite3', 'bindings', 'file-uri-to-path'])
      await cp(join(root, 'node_modules', name), join(app, 'node_modules', name), { recursive: true })
    await writeFile(join(app, 'config.json'), JSON.stringify(config))
    await mkdir(data)
    await chown(data, USER, USER)
    await chmod(data, 0o700)
    const port = await findPort()
    const origin = `http://127.0.0.1:${port}`
    const command = await readCommand(port)
    const run = () => startContained(command, { app, data })
    const create = (title) =>
      fetch(`${origin}/notes`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title }),
      })

    const first = run()
    await check('starts with user 65534, an empty environment and a read-only root', async () => {
      const early = first.ended.then(() => Promise.reject(new Error(first.printed.join(' '))))
      early.catch(() => {})
      await Promise.race([untilListening(port), early])
      assert.equal((await create('one')).status, 201)
      assert.equal((await fetch(`${origin}/_health/ready`)).status, 200)
      return 'serves, and is ready'
    })
    await check('writes only to the folder of data', async () => {
      const files = await readdir(data)
      assert.ok(files.includes('app.db'))
      assert.deepEqual(
        files.filter((name) => !name.startsWith('app.db')),
        [],
      )
      return files.sort().join(', ')
    })
    await check('log lines are JSON', async () => {
      for (const line of first.printed) JSON.parse(line)
      return `${first.printed.length > 0 ? 'each line' : 'no line'}`
    })
    await check('SIGTERM as process 1 ends it with 0, after the running request', async () => {
      const running = create('two')
      await new Promise((resolve) => setTimeout(resolve, 2))
      process.kill(await findCommand(first.child), 'SIGTERM')
      assert.equal((await running).status, 201)
      const [code] = await first.ended
      assert.equal(code, 0)
      return 'the request is answered, the exit code is 0'
    })
    const second = run()
    await check('starts again over the same data', async () => {
      await untilListening(port)
      assert.deepEqual(await (await fetch(`${origin}/notes/count`)).json(), { total: 2 })
      process.kill(await findCommand(second.child), 'SIGTERM')
      await second.ended
      return 'both documents are there'
    })
    return {
      title: 'container',
      about:
        'The command of `examples/deployment/Dockerfile` with the packed tarball, in namespaces of Linux as a container has them',
      columns: ['check', 'result'],
      rows,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
