import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asOther } from './packages.mjs'

/** A port of this machine that nobody uses. */
export async function findPort(host = '127.0.0.1') {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening')
  const { port } = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return port
}

/** Waits until something listens. */
export async function untilListening(port, host = '127.0.0.1') {
  const end = performance.now() + 60_000
  for (;;) {
    const socket = connect(port, host)
    const isThere = await Promise.race([
      once(socket, 'connect').then(() => true),
      new Promise((resolve) => socket.once('error', () => resolve(false))),
    ]).catch(() => false)
    socket.destroy()
    if (isThere) return
    if (performance.now() > end) throw new Error(`nothing listens on port ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/**
 * Starts a PgBouncer in transaction mode before a server. `settings`: more lines of its configuration. Without a
 * password: it listens on this machine alone, for as long as a test.
 */
export async function startPgbouncer(url, settings = []) {
  const { hostname, port: behind, username, password } = new URL(url)
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await findPort()
  const file = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${behind} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'max_client_conn = 2000',
    'default_pool_size = 40',
    'server_login_retry = 1',
    ...settings,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const child = spawn('/usr/sbin/pgbouncer', ['-q', file], { ...asOther(), stdio: 'ignore' })
  const ended = once(child, 'exit')
  process.on('exit', () => child.kill('SIGKILL'))
  const isThere = untilListening(port)
  await Promise.race([isThere, ended.then(() => Promise.reject(new Error('pgbouncer ended')))])
  return {
    port,
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    async stop() {
      child.kill('SIGINT')
      const late = setTimeout(() => child.kill('SIGKILL'), 3000)
      await ended
      clearTimeout(late)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
