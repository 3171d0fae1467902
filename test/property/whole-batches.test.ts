import { expect, test } from 'vitest'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { checkWholeBatches } from '../support/whole-batch-laws.js'

// CONTRACT.md §2, "Batch"

const RUNS = rounds(150, 5000)

test.each(useStorages())(
  'in %s, a batch leaves what its operations leave if conditions are checked at the end, or names the one at fault',
  async (_, createAdapter) => {
    const seen = await checkWholeBatches(RUNS, { createAdapter })
    expect(perRound(seen.granted, RUNS)).toBeGreaterThan(0.1)
    expect(perRound(seen.refused, RUNS)).toBeGreaterThan(0.3)
  },
)
