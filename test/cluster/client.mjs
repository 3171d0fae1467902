/**
 * One process of a service under load: it sends random requests, and writes down each with its answer, its begin and its
 * end by the clock of the machine, one JSON line each. It ends when its stdin does.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createCollectionService } from '../../dist/index.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { config } from './config.mjs'

const { name, connectionString, registers, file, clients } = JSON.parse(process.argv[2])
const errors = []
const note = (...words) => errors.push(words.map(String).join(' '))
const handler = createCollectionService(config, createPostgresAdapter({ connectionString }), {
  production: false,
  logger: { info() {}, warn() {}, error: note },
})
const out = createWriteStream(file)
let isRunning = true
let serial = 0
const seconds = () => Number(process.hrtime.bigint()) / 1e9

async function send(method, path, body, headers = {}) {
  const request = new Request(`http://service.test${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const begin = seconds()
  const response = await handler(request)
  const text = await response.text()
  const parsed = text === '' ? undefined : JSON.parse(text)
  return {
    begin,
    end: seconds(),
    status: response.status,
    etag: response.headers.get('etag'),
    body: parsed,
    ...(response.status >= 400
      ? { code: parsed?.code, retryAfter: response.headers.get('retry-after') }
      : {}),
  }
}

function tell(kind, { begin, end, status, code, retryAfter }, more) {
  out.write(`${JSON.stringify({ kind, begin, end, status, code, retryAfter, ...more })}\n`)
}

const digestOf = (text) => createHash('sha256').update(text).digest('hex')
const thing = (code) => ({ code, digest: digestOf(code) })
const own = []

const actions = {
  async create() {
    const code = `${name}-${serial++}`
    const answer = await send('POST', '/things', thing(code))
    tell('create', answer, { thing: code, id: answer.body?._id })
    if (answer.status === 201) own.push(answer.body._id)
  },
  /** All processes want the same code. */
  async contest() {
    const code = `contested-${Math.floor(seconds() * 5)}`
    tell('contest', await send('POST', '/things', thing(code)), { thing: code })
  },
  async together() {
    const codes = [1, 2].map((place) => `${name}-${serial}-${place}`)
    serial += 1
    const operations = codes.map((code) => ({ method: 'POST', path: '/things', body: thing(code) }))
    tell('batch', await send('POST', '/_batch', { operations }), { things: codes })
  },
  async mark() {
    const id = own[Math.floor(Math.random() * own.length)]
    if (id === undefined) return
    const answer = await send('POST', '/marks', { thing: id })
    tell('mark', answer, { id, mark: answer.body?._id })
  },
  async remove() {
    const [id] = own.splice(Math.floor(Math.random() * own.length), 1)
    if (id === undefined) return
    tell('remove', await send('DELETE', `/things/${id}`), { id })
  },
  async read() {
    const id = registers[Math.floor(Math.random() * registers.length)]
    const answer = await send('GET', `/registers/${id}`)
    tell('read', answer, { id, n: answer.body?.n, writer: answer.body?.writer })
    return { id, answer }
  },
  async update() {
    const { id, answer } = await actions.read()
    if (answer.status !== 200) return
    const writer = randomUUID()
    const body = { n: answer.body.n + 1, writer }
    tell('update', await send('PATCH', `/registers/${id}`, body, { 'if-match': answer.etag }), {
      id,
      ...body,
    })
  },
}
const KINDS = ['create', 'create', 'contest', 'together', 'mark', 'remove', 'read', 'update', 'update']

async function client() {
  while (isRunning) {
    await actions[KINDS[Math.floor(Math.random() * KINDS.length)]]()
    await pause(10 + Math.random() * 20)
  }
}

process.stdin.on('end', () => {
  isRunning = false
})
process.stdin.resume()
await handler.ready()
process.stdout.write('ready\n')
await Promise.all(Array.from({ length: clients }, client))
await handler.close()
await new Promise((resolve) => out.end(resolve))
process.stdout.write(`${JSON.stringify({ errors: [...new Set(errors)].slice(0, 20) })}\n`)
process.exit(0)
