/** Runs the scenarios in the runtime that runs this file, on the package that is installed beside it. */
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createClient } from 'collection-service/client'
import { run } from './scenarios.mjs'

const { passed, failed, failures } = await run(createCollectionService, createMemoryAdapter, createClient)
for (const failure of failures) console.log(`✗ ${failure}`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
