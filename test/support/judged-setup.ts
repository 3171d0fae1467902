import { afterAll, afterEach } from 'vitest'
import { takeFaults } from './judged.js'

const SHOWN = 3

/** Fails where answers were not as described. */
function judge(): void {
  const faults = takeFaults()
  if (faults.length > 0) throw new Error([`${faults.length} answers`, ...faults.slice(0, SHOWN)].join('\n'))
}

afterEach(judge)
afterAll(judge)
