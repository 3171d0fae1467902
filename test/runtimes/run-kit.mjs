/** Runs the kit of adapters, with its fuzzer, on a storage. */
import { testAdapter } from 'collection-service/testing'

/** Runs all tests, prints those that fail and how many pass, and ends the process. */
export async function runKit(createStorage) {
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
}
