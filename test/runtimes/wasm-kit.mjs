/**
 * Runs the kit of adapters on SQLite's WebAssembly, in memory: node wasm-kit.mjs PACKAGE. PACKAGE is the folder of
 * `@sqlite.org/sqlite-wasm`.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createSqliteWasmAdapter } from 'collection-service/sqlite-wasm'
import { runKit } from './run-kit.mjs'

const [folder] = process.argv.slice(2)
const { default: load } = await import(pathToFileURL(join(folder, 'dist', 'node.mjs')))
const sqlite3 = await load()
// Each rejected statement would be printed.
sqlite3.config.warn = () => {}

await runKit(async () => {
  const database = new sqlite3.oo1.DB(':memory:')
  const adapter = createSqliteWasmAdapter(database)
  return { connect: () => adapter, destroy: async () => database.close() }
})
