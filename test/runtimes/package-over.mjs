/**
 * Stands for the package where a runner of cases asks for services in memory: each has a new database of another engine. The
 * engine is `STORAGE`, `libsql` or `wasm`, and `STORAGE_PACKAGE` is the folder that has installed it.
 */
import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createLibsqlAdapter } from 'collection-service/libsql'
import { createSqliteWasmAdapter } from 'collection-service/sqlite-wasm'

export * from 'collection-service'

const { STORAGE, STORAGE_PACKAGE } = process.env

async function loadLibsql() {
  const { createClient } = createRequire(join(STORAGE_PACKAGE, 'package.json'))('@libsql/client')
  return () => {
    const folder = mkdtempSync(join(tmpdir(), 'collection-service-libsql-'))
    return createLibsqlAdapter(createClient({ url: `file:${join(folder, 'data.db')}` }))
  }
}

async function loadWasm() {
  const { default: load } = await import(pathToFileURL(join(STORAGE_PACKAGE, 'dist', 'node.mjs')))
  const sqlite3 = await load()
  // Each rejected statement would be printed.
  sqlite3.config.warn = () => {}
  return () => createSqliteWasmAdapter(new sqlite3.oo1.DB(':memory:'))
}

/** Takes the place of the export of this name. */
export const createMemoryAdapter = await (STORAGE === 'wasm' ? loadWasm() : loadLibsql())
