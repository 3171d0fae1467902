/**
 * Writes to a SQLite file, for sqlite-together.mjs:
 *
 * - `sqlite-writer.mjs FILE add TIMES` adds 1 to a number in a document, so many times.
 * - `sqlite-writer.mjs FILE pairs ROUND` writes pairs of documents, each as one write, until it is killed. Prints the number
 *   of each pair that was acknowledged.
 * - `sqlite-writer.mjs FILE read` prints all documents.
 *
 * A fourth argument is a folder that has installed `@libsql/client`, which then writes to the file.
 */
import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createLibsqlAdapter } from 'collection-service/libsql'
import { createSqliteAdapter } from 'collection-service/sqlite'

const [file, task, amount, libsql] = process.argv.slice(2)
const print = (line) => writeSync(1, `${line}\n`)

function createAdapter() {
  if (libsql === undefined) return createSqliteAdapter({ file })
  const { createClient } = createRequire(join(libsql, 'package.json'))('@libsql/client')
  return createLibsqlAdapter(createClient({ url: `file:${file}` }))
}

const adapter = createAdapter()
const everything = { kind: 'and', filters: [] }
const all = { filter: everything, sort: [], skip: 0, limit: null }

/** Retries while other processes write for long. */
async function insist(work) {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (error.code !== 'storage_unavailable') throw error
    }
  }
}

async function add() {
  for (;;) {
    const [{ _version: version, n }] = await insist(() => adapter.list('counts', all))
    const replace = { _id: 'count', _version: version + 1, n: n + 1 }
    const { ok } = await insist(() => adapter.write([{ in: 'counts', replace, version }], {}))
    if (ok) return
  }
}

async function writePairs(round) {
  for (let n = 0; ; n += 1) {
    const pair = `${round}-${n}`
    const steps = ['a', 'b'].map((side) => ({
      in: 'pairs',
      insert: { _id: `${pair}-${side}`, _version: 1, pair },
    }))
    const { ok } = await adapter.write(steps, {})
    if (!ok) throw new Error(`${pair} was rejected`)
    print(pair)
  }
}

await insist(() =>
  adapter.open([
    { name: 'counts', indexes: [] },
    { name: 'pairs', indexes: [], log: { keep: 3_600_000, omit: [] } },
  ]),
)
if (task === 'add') {
  await insist(() => adapter.write([{ in: 'counts', insert: { _id: 'count', _version: 1, n: 0 } }], {}))
  for (let times = 0; times < Number(amount); times += 1) await add()
}
if (task === 'pairs') await writePairs(amount)
if (task === 'read') {
  const [counts, pairs] = await Promise.all(['counts', 'pairs'].map((name) => adapter.list(name, all)))
  print(JSON.stringify({ count: counts[0]?.n, ids: pairs.map(({ _id }) => _id) }))
}
await adapter.close()
