/**
 * A worker that runs the kit of adapters, with its fuzzer, on the origin private file system of a browser: put in by
 * opfs-kit.mjs. It posts the result of each test, and then how many there were.
 */
import loadSqlite from '@sqlite.org/sqlite-wasm'
import { createSqliteWasmAdapter } from 'collection-service/sqlite-wasm'
import { testAdapter } from 'collection-service/testing'

const FILE = '/kit.db'

const sqlite3 = await loadSqlite()
// Each rejected statement would be printed.
sqlite3.config.warn = () => {}
const files = await sqlite3.installOpfsSAHPoolVfs({ name: 'kit' })

/** A storage over a file, which is opened again after a backup was put in its place. */
async function createStorage() {
  let database = new files.OpfsSAHPoolDb(FILE)
  const adapter = createSqliteWasmAdapter({
    exec: (options) => database.exec(options),
    changes: () => database.changes(),
  })
  return {
    connect: () => adapter,
    async backUp() {
      const bytes = await files.exportFile(FILE)
      return async () => {
        database.close()
        await files.importDb(FILE, bytes)
        database = new files.OpfsSAHPoolDb(FILE)
      }
    },
    async destroy() {
      database.close()
      await files.wipeFiles()
    },
  }
}

const tests = []
testAdapter({
  test: (name, run) => void tests.push([name, run]),
  createStorage,
  fuzz: { stores: 10, queries: 50, seed: 1 },
})
for (const [name, run] of tests) {
  try {
    await run()
    postMessage({ name })
  } catch (error) {
    postMessage({ name, failure: String(error?.stack ?? error) })
  }
}
postMessage({ count: tests.length })
