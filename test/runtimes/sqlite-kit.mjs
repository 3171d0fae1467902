/** Runs the kit of adapters, with its fuzzer, on SQLite in this runtime: node sqlite-kit.mjs [DRIVER]. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSqliteAdapter } from 'collection-service/sqlite'
import { runKit } from './run-kit.mjs'

const [driver] = process.argv.slice(2)

async function createStorage() {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-kit-'))
  const file = join(folder, 'data.db')
  return {
    connect: () => createSqliteAdapter({ file, ...(driver ? { driver } : {}) }),
    async backUp() {
      await copyFile(file, `${file}.backup`)
      return () => copyFile(`${file}.backup`, file)
    },
    destroy: () => rm(folder, { recursive: true, force: true }),
  }
}

await runKit(createStorage)
