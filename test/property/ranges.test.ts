import { describe, test } from 'vitest'
import { checkRanges } from '../support/range-laws.js'
import { useStorages } from '../support/storages.js'
import { rounds } from '../support/tier.js'

// CONTRACT.md §3: a query has one answer, whatever indexes there are.

const RUNS = rounds(300, 10_000)

describe.each(useStorages())('in %s', (_, create) => {
  test('ranges of indexes together answer as a plain array would', async () => {
    const adapter = create()
    try {
      await checkRanges(adapter, RUNS)
    } finally {
      await adapter.close()
    }
  }, 600_000)
})
