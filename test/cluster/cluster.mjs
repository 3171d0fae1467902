import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { HERE, startNetwork } from './network.mjs'
import { asOther } from './packages.mjs'
import { findPort, startPgbouncer, untilListening } from './start-pgbouncer.mjs'

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits until something holds. */
export async function until(holds, what, limit = 180) {
  const end = performance.now() + limit * 1000
  for (;;) {
    const value = await holds().catch(() => undefined)
    if (value) return value
    if (performance.now() > end) throw new Error(`still not after ${limit} seconds: ${what}`)
    await sleep(100)
  }
}

/** The seconds after which Patroni takes a leader that says nothing for dead; it takes no less than 20. */
const TTL = 20

const PASSWORD = 'postgres'

const at = (hosts, more = '') => `postgres://postgres:${PASSWORD}@${hosts}/postgres${more}`

/**
 * Three PostgreSQL under Patroni with one synchronous standby, each on a machine of its own network, etcd, and HAProxy
 * and PgBouncer before them. etcd is asked by its version 2: with version 3, Patroni before 3.0.3 overwrites the key of
 * the leader where its lease has ended, so one that was stopped takes the lead back from its successor.
 */
export async function startCluster() {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-cluster-'))
  await chmod(folder, 0o755)
  const who = asOther()
  if (who.uid !== undefined) await chown(folder, who.uid, who.gid)
  const children = new Set()
  // Also where something fails: nothing that was begun here outlives this process.
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL')
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      const file = join(folder, name, 'postmaster.pid')
      if (existsSync(file)) signal(Number(readFileSync(file, 'utf8').split('\n')[0]), 'SIGQUIT')
    }
  })
  const launch = (name, [command, args], more) => {
    const log = openSync(join(folder, `${name}.log`), 'a')
    const child = spawn(command, args, { ...more, cwd: '/', stdio: ['ignore', log, log] })
    closeSync(log)
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }
  const start = (name, command, args) => launch(name, [command, args], who)
  const newFolder = async (name) => {
    const path = join(folder, name)
    await mkdir(path, { mode: 0o700 })
    if (who.uid !== undefined) await chown(path, who.uid, who.gid)
    return path
  }
  const machines = await startNetwork([1, 2, 3])
  const etcd = { client: await findPort(HERE), peer: await findPort(HERE) }
  start('etcd', '/usr/bin/etcd', [
    ...['--data-dir', await newFolder('etcd'), '--name', 'one', '--enable-v2'],
    ...['--listen-client-urls', `http://${HERE}:${etcd.client}`],
    ...['--advertise-client-urls', `http://${HERE}:${etcd.client}`],
    ...['--listen-peer-urls', `http://${HERE}:${etcd.peer}`],
    ...['--initial-advertise-peer-urls', `http://${HERE}:${etcd.peer}`],
    ...['--initial-cluster', `one=http://${HERE}:${etcd.peer}`],
  ])
  await untilListening(etcd.client, HERE)

  const nodes = []
  for (const [i, machine] of machines.entries()) {
    const { host } = machine
    const [port, rest] = [5432, 8008]
    const name = `node${i + 1}`
    const file = join(folder, `${name}.json`)
    const users = Object.fromEntries(
      ['superuser', 'replication', 'rewind'].map((role) => [
        role,
        { username: role === 'superuser' ? 'postgres' : role, password: PASSWORD },
      ]),
    )
    const settings = {
      scope: 'cluster',
      name,
      restapi: { listen: `${host}:${rest}`, connect_address: `${host}:${rest}` },
      etcd: { host: `${HERE}:${etcd.client}` },
      bootstrap: {
        dcs: {
          ttl: TTL,
          loop_wait: 1,
          retry_timeout: 5,
          primary_start_timeout: 0,
          synchronous_mode: true,
          synchronous_mode_strict: true,
          maximum_lag_on_failover: 33_554_432,
          // Of two that may follow, the one that has most does: the other has nothing to take back before it can confirm.
          synchronous_node_count: 2,
          postgresql: {
            use_pg_rewind: true,
            remove_data_directory_on_rewind_failure: true,
            parameters: {
              max_connections: 200,
              wal_log_hints: 'on',
              wal_retrieve_retry_interval: '500ms',
              // A leader that is cut off cannot end while it waits for its standbys, and Patroni then starts it twice.
              wal_sender_timeout: '4s',
              wal_receiver_timeout: '4s',
            },
          },
        },
        initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
        pg_hba: ['host all all samenet scram-sha-256', 'host replication all samenet scram-sha-256'],
      },
      postgresql: {
        listen: `${host}:${port}`,
        connect_address: `${host}:${port}`,
        data_dir: join(folder, name),
        bin_dir: '/usr/lib/postgresql/15/bin',
        pgpass: join(folder, `${name}.pgpass`),
        // A copy waits for a checkpoint, which takes minutes otherwise; with a slot, it would count as a synchronous standby.
        basebackup: [{ checkpoint: 'fast' }, 'no-slot'],
        authentication: users,
        parameters: { unix_socket_directories: '' },
      },
    }
    await newFolder(name)
    await writeFile(file, JSON.stringify(settings))
    const node = { ...machine, name, port, rest, patroni: undefined }
    node.start = () => {
      node.patroni = launch(name, machine.command('/usr/bin/patroni', [file]))
    }
    /** The processes of the server, its first one at the beginning. */
    node.servers = async () => {
      const first = Number((await readFile(join(folder, name, 'postmaster.pid'), 'utf8')).split('\n')[0])
      const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
      const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number))
      return [first, ...pairs.flatMap(([pid, parent]) => (parent === first ? [pid] : []))]
    }
    nodes.push(node)
  }
  const [first, ...others] = nodes
  first.start()
  const ask = async (node, path, init) => {
    const signal = AbortSignal.timeout(1000)
    return fetch(`http://${node.host}:${node.rest}${path}`, { signal, ...init })
  }
  /** The node that leads, by its own word. */
  const leader = async () => {
    const answers = await Promise.all(
      nodes.map((node) =>
        ask(node, '/primary').then(
          ({ status }) => status === 200,
          () => false,
        ),
      ),
    )
    return nodes[answers.indexOf(true)]
  }
  await until(leader, 'there is a leader')
  for (const node of others) node.start()

  /** Whether all nodes are well, one of them as synchronous standby. */
  const isWhole = async () => {
    const leads = await leader()
    if (!leads) return false
    const { members } = await (await ask(leads, '/cluster')).json()
    if (members.length < 3 || !members.some(({ role }) => role === 'sync_standby')) return false
    // What Patroni says of the others may be old: one that is being rewound needs its source.
    const client = new pg.Client({ connectionString: at(`${leads.host}:${leads.port}`) })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query(
        "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'",
      )
      return rows.length === 2 && rows.some(({ sync_state }) => sync_state === 'sync') && leads
    } finally {
      await client.end()
    }
  }
  await until(isWhole, 'all nodes are well')

  const haproxyPort = await findPort()
  const lines = [
    ...['global', '  maxconn 2000', 'defaults', '  mode tcp', '  timeout connect 2s'],
    ...['  timeout client 1h', '  timeout server 1h', 'listen writes', `  bind 127.0.0.1:${haproxyPort}`],
    ...['  option httpchk OPTIONS /primary', '  http-check expect status 200'],
    '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map(({ name, host, port, rest }) => `  server ${name} ${host}:${port} check port ${rest}`),
  ]
  await writeFile(join(folder, 'haproxy.cfg'), `${lines.join('\n')}\n`)
  start('haproxy', '/usr/sbin/haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')])
  await untilListening(haproxyPort)
  const pgbouncer = await startPgbouncer(at(`127.0.0.1:${haproxyPort}`), ['server_connect_timeout = 2'])

  return {
    folder,
    nodes,
    ask,
    leader,
    isWhole,
    urls: {
      hosts: at(nodes.map(({ host, port }) => `${host}:${port}`).join(',')),
      haproxy: at(`127.0.0.1:${haproxyPort}`, '?target_session_attrs=read-write'),
      pgbouncer: pgbouncer.url,
    },
    async stop(keepsLogs = false) {
      await pgbouncer.stop()
      for (const node of nodes) {
        const pids = await node.servers().catch(() => [])
        for (const pid of [node.patroni?.pid, ...pids]) signal(pid, 'SIGCONT')
      }
      const ends = [...children].map((child) => once(child, 'exit'))
      for (const child of children) child.kill('SIGTERM')
      const late = setTimeout(() => {
        for (const child of children) child.kill('SIGKILL')
      }, 30_000)
      await Promise.all(ends)
      clearTimeout(late)
      const logs = keepsLogs ? (await readdir(folder)).filter((name) => name.endsWith('.log')) : []
      for (const name of await readdir(folder))
        if (!logs.includes(name)) await rm(join(folder, name), { recursive: true, force: true })
      if (!keepsLogs) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Sends a signal to a process that may be gone. */
export function signal(pid, name) {
  try {
    if (pid !== undefined) process.kill(pid, name)
  } catch (thrown) {
    if (thrown.code !== 'ESRCH') throw thrown
  }
}
