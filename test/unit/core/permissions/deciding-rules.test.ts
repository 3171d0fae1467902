import { expect, test } from 'vitest'
import { includesProperty, type PropertySet } from '../../../../src/core/permissions/grants.js'
import { covers } from '../../../../src/core/permissions/read-gate.js'
import fc from '../../../support/fast-check.js'

const NAMES = ['a', 'b', 'c']
/** One that no set names. */
const OTHER = 'z'

const names = fc.subarray(NAMES).map((some) => new Set(some))
const sets: fc.Arbitrary<PropertySet> = fc.record({ pick: fc.option(names), omit: names })

test('a set covers another one exactly where it includes each name that the other includes', () => {
  fc.assert(
    fc.property(sets, sets, (a, b) => {
      const isWithin = [...NAMES, OTHER].every(
        (name) => !includesProperty(b, name) || includesProperty(a, name),
      )
      expect(covers(a, b)).toBe(isWithin)
    }),
    { numRuns: 1000 },
  )
})
