/**
 * A process of its own that asks a service over the built package for long patterns that all differ, and prints by how many
 * MiB its memory has grown. It needs `--expose-gc`.
 */
import { createCollectionService, createMemoryAdapter } from '../../../dist/index.js'

const config = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
}
const documents = { notes: [{ text: 'a note of a few words' }] }
const options = { logger: { info() {}, warn() {}, error() {} }, production: false }
const handler = createCollectionService(config, createMemoryAdapter({ documents }), options)
await handler.ready()

/** Each is as long as a pattern may be; without letter case each letter is a set. */
const KINDS = [(i) => `[a-c]${i}${'a|bc'.repeat(125)}`, (i) => `[a-c]${i}${'[a-z]x'.repeat(82)}`]

async function ask(i) {
  const pattern = encodeURIComponent(KINDS[i % KINDS.length](i))
  const url = `http://localhost/notes?q[text][$regex]=${pattern}&q[text][$options]=i`
  const { status } = await handler(new Request(url))
  if (status !== 200) throw new Error(`a pattern is answered with ${status}`)
}

async function measure() {
  // What was dropped in one turn may be free only in the next.
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const count = Number(process.argv[2])
for (let i = 0; i < 20; i++) await ask(i)
const before = await measure()
for (let i = 20; i < count; i++) await ask(i)
process.stdout.write(String((((await measure()) - before) / 1024 / 1024).toFixed(1)))
