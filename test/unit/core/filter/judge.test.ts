import { describe, expect, test } from 'vitest'
import { createSorter } from '../../../../src/adapters/memory/search.js'
import { compileDocumentOrder } from '../../../../src/core/filter/compare.js'
import type { FieldRef, Filter } from '../../../../src/core/filter/filter.js'
import { compileFilter, compileJudge } from '../../../../src/core/filter/matches.js'
import { parsePattern } from '../../../../src/core/filter/pattern/parse-pattern.js'
import { Slices } from '../../../../src/core/slices.js'

// CONTRACT.md §3.4

const field = (path: string, type: FieldRef['type'] = 'string', each = false): FieldRef => ({
  path,
  type,
  each,
})
const match = (ref: FieldRef, source: string): Filter => ({
  kind: 'match',
  field: ref,
  pattern: parsePattern(source, { ignoreCase: false }),
})

const TEXT = field('text')
const OTHER = field('other')
const TAGS = field('tags', 'string', true)
const N = field('n', 'number')
const NUMBERS = field('numbers', 'number', true)

const FILTERS: readonly (readonly [name: string, filter: Filter])[] = [
  ['one pattern', match(TEXT, 'x[ab]{20}$')],
  [
    'patterns joined by and',
    { kind: 'and', filters: [match(TEXT, 'a[ab]{50}'), match(OTHER, 'z$'), match(TEXT, '^b')] },
  ],
  [
    'patterns joined by or',
    { kind: 'or', filters: [match(TEXT, 'q'), match(OTHER, 'q'), match(TEXT, 'b$')] },
  ],
  ['a negated pattern', { kind: 'not', filter: match(OTHER, '(yz|zy){3}') }],
  ['patterns over elements', match(TAGS, '^t9.*9$')],
  [
    'numbers over elements',
    {
      kind: 'and',
      filters: [
        { kind: 'gt', field: NUMBERS, value: 4998 },
        { kind: 'eq', field: NUMBERS, value: 17 },
      ],
    },
  ],
  [
    'a list of numbers over elements',
    {
      kind: 'or',
      filters: [7000, 8000, 4999].map((value): Filter => ({ kind: 'eq', field: NUMBERS, value })),
    },
  ],
  [
    'what is short beside what is long',
    {
      kind: 'or',
      filters: [
        { kind: 'and', filters: [{ kind: 'lt', field: N, value: 3 }, match(TEXT, 'b.a$')] },
        match(OTHER, 'n'),
      ],
    },
  ],
]

const DOCUMENTS = [0, 1, 2, 3, 4].map((n) => ({
  n,
  text: `${'ab'.repeat(2000 + n)}${n % 2 ? 'b' : 'ba'}`,
  other: 'yz'.repeat(1500) + (n > 2 ? 'yzy' : ''),
  tags: Array.from({ length: 500 }, (_, i) => `t${i * n}`),
  numbers: Array.from({ length: 5000 }, (_, i) => i + n),
}))

/** Asks again until there is an answer; `steps` a slice. */
function askInSlices(
  filter: Filter,
  steps: number,
): { readonly verdicts: boolean[]; readonly pauses: number } {
  const judge = compileJudge(filter)
  let pauses = 0
  const verdicts = DOCUMENTS.map((document) => {
    for (;;) {
      const verdict = judge(document, { left: steps })
      if (verdict !== undefined) return verdict
      pauses += 1
    }
  })
  return { verdicts, pauses }
}

describe('a filter that pauses gives the same answer', () => {
  test.each(FILTERS)('%s', (_, filter) => {
    const expected = DOCUMENTS.map(compileFilter(filter))
    for (const steps of [10, 64, 1000, 1e6, Number.POSITIVE_INFINITY]) {
      expect(askInSlices(filter, steps).verdicts, `${steps} steps`).toEqual(expected)
    }
  })

  test('without an end it never pauses', () => {
    for (const [, filter] of FILTERS) expect(askInSlices(filter, Number.POSITIVE_INFINITY).pauses).toBe(0)
  })

  test('the long ones do pause, and what was answered before is not asked again', () => {
    const filter: Filter = {
      kind: 'and',
      filters: [1, 2, 3].map(
        (value): Filter => ({ kind: 'not', filter: { kind: 'eq', field: NUMBERS, value: -value } }),
      ),
    }
    const { pauses } = askInSlices(filter, 1000)
    // Three times five thousand elements of five documents, a thousand a slice.
    expect(pauses).toBeGreaterThanOrEqual(70)
    expect(pauses).toBeLessThan(100)
  })
})

describe('an order in slices', () => {
  const order = compileDocumentOrder([
    { field: N, descending: true },
    { field: TEXT, descending: false },
  ])
  const items = Array.from({ length: 5000 }, (_, i) => ({
    n: (i * 7919) % 613,
    text: `${(i * 104729) % 5000}`,
  }))
  const expected = items.toSorted((a, b) => b.n - a.n || (a.text < b.text ? -1 : 1))

  test.each([0, 1, 20, 1000, 1001, 4999, 5000, Number.POSITIVE_INFINITY])(
    'the first %d are those of a plain sort',
    async (count) => {
      const slices = new Slices(Number.POSITIVE_INFINITY)
      const sorter = createSorter<(typeof items)[number]>(order, count, slices)
      for (const item of items) sorter.add(item)
      slices.left = 500
      expect(await sorter.finish()).toEqual(expected.slice(0, count))
    },
  )

  test('long texts with one beginning cost what they have in common', () => {
    const slice = { left: 0 }
    const text = 'a'.repeat(1_000_000)
    order({ n: 1, text: `${text}x` }, { n: 1, text: `${text}y` }, slice)
    expect(-slice.left).toBeGreaterThan(10_000)
  })
})
