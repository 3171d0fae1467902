/** Creates and reads documents, as many at once as it is told, and says what time of the processor it has taken. */
import { createCollectionService } from '../../dist/index.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { config } from './requests/workloads.mjs'

const [schema, atOnce] = process.argv.slice(2)
const adapter = createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema })
const handler = createCollectionService(config, adapter, {
  logger: { info() {}, warn() {}, error: console.error },
  production: false,
})
await handler.ready()

const ids = []
let created = 0

async function ask(method, path, body) {
  const headers = { 'content-type': 'application/json' }
  const options = { method, ...(body && { headers, body: JSON.stringify(body) }) }
  const answer = await handler(new Request(`http://localhost${path}`, options))
  const text = await answer.text()
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text)
}

const kinds = {
  async create() {
    const n = created++
    const email = `new${process.pid}.${n}@example.com`
    const body = { title: `new ${n}`, n, group: n % 100, email, body: 'x'.repeat(200) }
    ids.push((await ask('POST', '/docs', body))._id)
  },
  read: () => ask('GET', `/docs/${ids[Math.floor(Math.random() * ids.length)]}`),
}

process.on('message', async ({ kind, times }) => {
  const before = process.cpuUsage()
  let left = times
  const one = async () => {
    while (left-- > 0) await kinds[kind]()
  }
  await Promise.all(Array.from({ length: Number(atOnce) }, one))
  const { user, system } = process.cpuUsage(before)
  process.send({ microseconds: user + system })
})
process.on('disconnect', () => handler.close().then(() => process.exit()))
process.send('ready')
