/** Runs the kit of adapters, with its fuzzer, on SQLite in this runtime: node sqlite-kit.mjs [DRIVER]. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSqliteAdapter } from 'collection-service/sqlite'
import { testAdapter } from 'collection-service/testing'

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

const tests = []
testAdapter({
  test: (name, run) => void tests.push([name, run]),
  createStorage,
  fuzz: { stores: 10, queries: 50, seed: Number(process.env.SEED ?? 1) },
})

let failed = 0
for (const [name, run] of tests) {
  try {
    await run()
  } catch (error) {
    failed += 1
    console.log(`✗ ${name} › ${error?.stack ?? error}`)
  }
}
console.log(`${tests.length - failed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
