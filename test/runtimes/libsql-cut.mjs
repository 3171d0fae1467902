/**
 * Breaks the connections of a libSQL client: node libsql-cut.mjs FOLDER. FOLDER has installed `@libsql/client`. A write
 * whose connection is broken is never sent again.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createCollectionService } from 'collection-service'
import { createLibsqlAdapter } from 'collection-service/libsql'
import { serveLibsql } from './libsql-server.mjs'

const [packages] = process.argv.slice(2)
const require = createRequire(join(packages, 'package.json'))
const { createClient } = require('@libsql/client')
const Database = require('libsql')

const config = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } } },
}
const server = await serveLibsql(new Database(':memory:'))
const service = createCollectionService(config, createLibsqlAdapter(createClient({ url: server.url })), {
  logger: { info() {}, warn() {}, error() {} },
})

async function send(method, path, text) {
  const body = text === undefined ? {} : { body: JSON.stringify({ text }) }
  const response = await service(new Request(`http://app.test${path}`, { method, ...body }))
  return { status: response.status, body: await response.json() }
}

const textsOf = async () => (await send('GET', '/notes')).body.map(({ text }) => text)

let passed = 0
let failed = 0
async function test(name, run) {
  try {
    await run()
    passed += 1
  } catch (error) {
    failed += 1
    console.log(`✗ ${name} › ${error?.stack ?? error}`)
  } finally {
    server.cut = undefined
  }
}

await test('without a cut', async () => {
  assert.equal((await send('POST', '/notes', 'first')).status, 201)
  assert.deepEqual(await textsOf(), ['first'])
})
for (const [cut, text, found] of [
  ['before', 'lost', ['first']],
  ['after', 'stored', ['first', 'stored']],
])
  await test(`a write whose connection is broken ${cut} its statements`, async () => {
    server.cut = cut
    const { status, body } = await send('POST', '/notes', text)
    assert.deepEqual([status, body.code], [503, 'outcome_unknown'])
    server.cut = undefined
    assert.deepEqual((await textsOf()).sort(), found)
  })
await test('a read whose connection is broken', async () => {
  server.cut = 'after'
  const { status, body } = await send('GET', '/notes')
  assert.deepEqual([status, body.code], [503, 'storage_unavailable'])
})
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
