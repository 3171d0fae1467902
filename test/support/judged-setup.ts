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
