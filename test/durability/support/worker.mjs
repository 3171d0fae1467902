/**
 * A process of its own that uses the built package. It takes tasks as lines of JSON on stdin, one after another, prints
 * what a task says meanwhile, and then `done` or `failed` with its number and what came of it; the line `"stop"` is for
 * the task that runs. A fault outside of a task ends it.
 */
import { createHash } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { createCollectionService } from '../../../dist/index.js'
import { createPostgresAdapter } from '../../../dist/postgres.js'
import { createSqliteAdapter } from '../../../dist/sqlite.js'
import { createTestHasher } from '../../../dist/testing.js'
import { runClients } from './clients.mjs'
import { ADMIN, config as liveConfig, writeLive } from './live-clients.mjs'
import { writeLogged } from './log-clients.mjs'

const adapters = { sqlite: createSqliteAdapter, postgres: createPostgresAdapter }

/** Resolves when a line has left this process: what is still on its way would be lost with it. */
const print = (line) => new Promise((resolve) => process.stdout.write(`${line}\n`, resolve))

const silent = { info() {}, warn() {}, error() {} }

const createService = ({ config, store: { engine, options }, client }, more = {}) =>
  createCollectionService(config, adapters[engine](options), {
    hasher: createTestHasher(),
    production: false,
    logger: silent,
    ...(client === undefined ? {} : { clientAddress: () => client }),
    ...more,
  })

async function send(handler, method, path, body, headers = {}) {
  const request = new Request(`http://service.test${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const response = await handler(request)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

/** Whether the task that runs is told to come to its end. */
let isStopped = false

/** How often each answer came. */
function createTally() {
  const tally = {}
  return {
    tally,
    add({ status, body }) {
      const key = status < 400 ? String(status) : `${status} ${body.code}`
      tally[key] = (tally[key] ?? 0) + 1
    },
  }
}

const tasks = {
  /** Opens a storage and closes it. */
  async open(task) {
    const handler = createService(task)
    const opening = handler.ready().then(
      () => 'open',
      (cause) => String(cause.cause ?? cause),
    )
    // It has been tried by then.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    await print('opening')
    const outcome = await opening
    await handler.close()
    return outcome
  },

  /** Sends the same registration many times at once. */
  async register(task) {
    const handler = createService(task)
    await handler.ready()
    const { tally, add } = createTally()
    const registering = Array.from({ length: task.times }, () =>
      send(handler, 'POST', '/auth/register', task.credentials),
    )
    for (const answer of await Promise.all(registering)) add(answer)
    await handler.close()
    return tally
  },

  /** Sends requests to accounts, all at once: the answers in few words. */
  async ask(task) {
    const handler = createService(task, { deliver() {} })
    await handler.ready()
    const answers = await Promise.all(
      task.requests.map(({ way, body, token }) =>
        send(handler, 'POST', `/auth/${way}`, body, token ? { authorization: `Bearer ${token}` } : {}),
      ),
    )
    await handler.close()
    return answers.map(({ status, body }) => ({ status, code: body?.code, token: body?.token }))
  },

  /** Replaces the secret of one new account after another, by tokens that are delivered, and tells how far it is. */
  async replaceSecrets(task) {
    const waiting = []
    const deliver = ({ kind, token }) => kind === 'reset' && waiting.shift()?.(token)
    const handler = createService(task, { deliver })
    await handler.ready()
    const post = async (way, body) => {
      const answer = await send(handler, 'POST', `/auth/${way}`, body)
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
      return answer.body
    }
    await print('serving')
    for (let i = 0; !isStopped; i++) {
      const email = `${i}@example.com`
      const registered = await post('register', { email, password: task.before })
      await print(`registered ${i} ${registered.token}`)
      const delivered = new Promise((resolve) => waiting.push(resolve))
      await post('request-reset', { email })
      await post('reset', { token: await delivered, new: task.after })
      await print(`acknowledged ${i} ${registered.token}`)
    }
    await handler.close()
  },

  /** Adds one to `n` of a document, as often as asked, each time on the state that it has read. */
  async increment(task) {
    const handler = createService(task)
    const { tally, add } = createTally()
    for (let left = task.times; left > 0; ) {
      const read = await send(handler, 'GET', task.path)
      if (read.status !== 200) throw new Error(JSON.stringify(read.body))
      const headers = { 'if-match': read.headers.get('etag') }
      const written = await send(handler, 'PATCH', task.path, { n: read.body.n + 1 }, headers)
      add(written)
      if (written.status === 200) left -= 1
      else if (written.status !== 412) break
    }
    await handler.close()
    return tally
  },

  /** Creates documents as fast as it can, until it is told to stop or has failed often, and says which are acknowledged. */
  async create(task) {
    const handler = createService(task)
    await handler.ready()
    await print('serving')
    const { tally, add } = createTally()
    let failures = task.failures ?? Number.POSITIVE_INFINITY
    let serial = 0
    const loop = async () => {
      while (!isStopped && failures > 0) {
        const code = `${task.round}-${task.name}-${serial++}`
        const text = `${code} `.repeat(1 + Math.floor(Math.random() * 200))
        const digest = createHash('sha256').update(text).digest('hex')
        const answer = await send(handler, 'POST', '/things', { code, text, digest, round: task.round })
        add(answer)
        if (answer.status === 201) await print(`acknowledged ${answer.body._id} ${code} ${digest}`)
        else failures -= 1
      }
    }
    await Promise.all(Array.from({ length: task.loops }, loop))
    await handler.close()
    return tally
  },

  /** Creates documents before and after another library opens and closes the file, and says which are acknowledged. */
  async displace(task) {
    const handler = createService(task)
    let serial = 0
    const create = async () => {
      const code = `code ${serial++}`
      const { status, body } = await send(handler, 'POST', '/things', { code })
      await print(`answered ${status === 201 ? status : body.code}`)
      if (status === 201) await print(`acknowledged ${code}`)
    }
    for (let i = 0; i < 5; i++) await create()
    const { file } = task.store.options
    const library = task.way === 'library' ? await import('node:sqlite').catch(() => undefined) : undefined
    if (library) {
      const other = new library.DatabaseSync(file)
      other.prepare('SELECT count(*) FROM sqlite_schema').get()
      other.close()
    } else {
      // The same as such a library does: locks of its own process do not bind it.
      const other = new Database(file)
      other.pragma('wal_checkpoint(TRUNCATE)')
      other.close()
      for (const ending of ['-wal', '-shm']) unlinkSync(`${file}${ending}`)
    }
    for (let i = 0; i < 5; i++) await create()
    await print('waiting')
    while (!isStopped) await new Promise((resolve) => setTimeout(resolve, 10))
    await handler.close()
  },

  /** Sends random transactions, and tells of each. */
  async transact(task) {
    const handler = createService(task)
    const sendHere = (method, path, body, headers) => send(handler, method, path, body, headers)
    await runClients(sendHere, task.clients, (told) => print(`told ${JSON.stringify(told)}`))
    await handler.close()
  },

  /** Writes what others watch. */
  async writeLive(task) {
    const handler = createService({ ...task, config: liveConfig })
    const asAdmin = handler.as(ADMIN)
    await writeLive((method, path, body) => send(asAdmin, method, path, body), task, print)
    await handler.close()
  },

  /** Writes into a logged collection, and reads its log meanwhile. */
  writeLogged: (task) => writeLogged(adapters[task.store.engine](task.store.options), task, print),
}

async function run(task) {
  isStopped = false
  try {
    await print(`done ${task.id} ${JSON.stringify((await tasks[task.task](task)) ?? null)}`)
  } catch (thrown) {
    await print(`failed ${task.id} ${JSON.stringify(String(thrown?.stack))}`)
  }
}

let running = Promise.resolve()
createInterface({ input: process.stdin }).on('line', (line) => {
  const task = JSON.parse(line)
  if (task === 'stop') isStopped = true
  else running = running.then(() => run(task))
})
