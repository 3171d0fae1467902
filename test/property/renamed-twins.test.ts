import { expect, test } from 'vitest'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { perRound, rounds } from '../support/tier.js'
import { checkTwins } from '../support/twin-laws.js'
import { writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §1, "Stored names"

const RUNS = rounds(200, 6667)

test.each([
  ['plain fields', { worlds: writeWorlds }],
  ['references', RELATED_WRITES],
  ['claims', CLAIMING_WRITES],
])(
  'a service of %s that are stored under other names answers as its twin does',
  { timeout: 7_200_000 },
  async (_, source) => {
    const seen = await checkTwins(RUNS, source)
    expect(perRound(Math.min(seen.written, seen.pages), RUNS)).toBeGreaterThan(0.3)
    expect(perRound(Math.min(seen.batches, seen.events), RUNS)).toBeGreaterThan(0.1)
  },
)
