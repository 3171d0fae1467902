import { afterAll, afterEach } from 'vitest'
import { switchCaches } from './caches.js'
import { takeFaults } from './judged.js'
import { useTemporaryFolder } from './temporary-folder.js'

const SHOWN = 3

useTemporaryFolder()

/** `CACHES=off npm test` runs everything without caches: nothing but the tests of the caches themselves needs them. */
if (process.env.CACHES === 'off') switchCaches(false)

/** Fails where answers were not as described. */
function judge(): void {
  const faults = takeFaults()
  if (faults.length > 0) throw new Error([`${faults.length} answers`, ...faults.slice(0, SHOWN)].join('\n'))
}

afterEach(judge)
afterAll(judge)

const begun = process.cpuUsage()

/** Tells `test/summary-reporter.ts` the CPU time of this file in milliseconds, without that of processes that it starts. */
afterEach(({ task }) => {
  const { user, system } = process.cpuUsage(begun)
  task.file.meta.cpu = (user + system) / 1000
})

declare module 'vitest' {
  interface TaskMeta {
    cpu?: number
  }
}
