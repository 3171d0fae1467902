import { describe, expect, test } from 'vitest'
import {
  and,
  everything,
  type FieldRef,
  type Filter,
  not,
  nothing,
  or,
  type Scalar,
} from '../../../../src/core/filter/filter.js'
import { matches } from '../../../../src/core/filter/matches.js'
import { parsePattern } from '../../../../src/core/filter/pattern/parse-pattern.js'
import { simplify } from '../../../../src/core/filter/simplify.js'
import fc from '../../../support/fast-check.js'

// A simplified filter means the same, and leaves an index more to use.

const field = (path: string, type: FieldRef['type'] = 'string', each = false): FieldRef => ({
  path,
  type,
  each,
})
const [team, state, due, n, tags] = [
  field('team'),
  field('state'),
  field('due', 'timestamp'),
  field('n', 'integer'),
  field('tags', 'string', true),
]
const is = (ref: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field: ref, value })
const oneOf = (ref: FieldRef, ...values: Scalar[]): Filter => or(values.map((value) => is(ref, value)))
const compared = (kind: 'gt' | 'gte' | 'lt' | 'lte', ref: FieldRef, value: Scalar): Filter => ({
  kind,
  field: ref,
  value,
})
const present = (ref: FieldRef): Filter => ({ kind: 'present', field: ref })
const match = (ref: FieldRef, source: string): Filter => ({
  kind: 'match',
  field: ref,
  pattern: parsePattern(source, { ignoreCase: false }),
})

const open = is(state, 'open')
const mine = oneOf(team, 'a', 'b', 'c')
const tagged = is(tags, 'x')
const pattern = match(team, 'x.*y')

const CASES: readonly (readonly [name: string, filter: Filter, simplified: Filter])[] = [
  ['a list and one of its values', and([mine, is(team, 'b')]), is(team, 'b')],
  ['a list and a value outside it', and([mine, is(team, 'z')]), nothing],
  ['two lists', and([mine, oneOf(team, 'c', 'b', 'z')]), oneOf(team, 'b', 'c')],
  ['a list without a value', and([mine, not(is(team, 'b'))]), oneOf(team, 'a', 'c')],
  ['a list within bounds', and([mine, compared('gt', team, 'a')]), oneOf(team, 'b', 'c')],
  ['a list with a value twice', oneOf(team, 'a', 'b', 'a'), oneOf(team, 'a', 'b')],
  ['values that the field cannot have', or([is(n, 'x'), is(n, 1)]), is(n, 1)],
  ['two values of one field', and([is(team, 'a'), open, is(team, 'b')]), nothing],
  [
    'bounds',
    and([compared('gte', n, 1), open, compared('gt', n, 1), compared('lt', n, 9), compared('lte', n, 8)]),
    and([compared('gt', n, 1), compared('lte', n, 8), open]),
  ],
  ['bounds without a value between them', and([compared('gt', n, 5), compared('lt', n, 5)]), nothing],
  ['a value that is there', and([present(team), is(team, 'a')]), is(team, 'a')],
  ['a value that is there and missing', and([not(present(team)), is(team, 'a')]), nothing],
  ['an alternative that is granted', and([or([open, mine]), open]), open],
  [
    'an alternative that is granted by a list',
    and([or([open, mine]), oneOf(team, 'a', 'c')]),
    oneOf(team, 'a', 'c'),
  ],
  ['an alternative that is excluded', and([or([open, mine]), is(team, 'z')]), and([open, is(team, 'z')])],
  [
    'what is left of an alternative',
    and([or([and([mine, is(n, 1)]), is(n, 2)]), is(team, 'a')]),
    and([oneOf(n, 2, 1), is(team, 'a')]),
  ],
  [
    'what every alternative excludes',
    and([or([is(team, 'a'), is(team, 'b')]), or([is(team, 'c')])]),
    nothing,
  ],
  ['elements of arrays, which may be several', and([tagged, is(tags, 'y')]), and([tagged, is(tags, 'y')])],
  ['a prefix', match(team, '^ab'), and([compared('gte', team, 'ab'), compared('lt', team, 'ac')])],
  [
    'a pattern with a prefix',
    match(team, '^ab.d'),
    and([compared('gte', team, 'ab'), compared('lt', team, 'ac'), match(team, '^ab.d')]),
  ],
  ['the last code point', match(team, '^\u{10ffff}'), compared('gte', team, '\u{10ffff}')],
  [
    'a prefix below the surrogates',
    match(team, '^\ud7ff'),
    and([compared('gte', team, '\ud7ff'), compared('lt', team, '\ue000')]),
  ],
  ['a pattern without a prefix', and([pattern, tagged]), and([pattern, tagged])],
]

describe('simplifies', () => {
  test.each(CASES)('%s', (_, filter, simplified) => expect(simplify(filter)).toEqual(simplified))

  test.each([
    everything,
    nothing,
    is(team, 'a'),
    mine,
    and([mine, open, compared('gt', n, 1)]),
    or([mine, open]),
  ])('leaves what is simple: %j', (filter) => expect(simplify(filter)).toBe(filter))
})

const TEXTS = ['', 'a', 'ab', 'abc', 'b', '\u{10ffff}', '\ud7ff', '\ue000']
const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z']
const text = fc.constantFrom(...TEXTS)
const time = fc.constantFrom(...TIMES)
const number = fc.constantFrom(-1, 0, -0, 1, 1.5, 2)
const values: readonly (readonly [FieldRef, fc.Arbitrary<Scalar>])[] = [
  [team, text],
  [state, text],
  [due, time],
  [n, number],
  [field('n', 'number'), number],
  [field('is', 'boolean'), fc.boolean()],
  [tags, text],
]
const leaf: fc.Arbitrary<Filter> = fc.constantFrom(...values).chain(([ref, value]) =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('eq', 'eq', 'lt', 'lte', 'gt', 'gte'),
        field: fc.constant(ref),
        value: fc.oneof(
          { weight: 9, arbitrary: value },
          { weight: 1, arbitrary: fc.constantFrom<Scalar>('a', 1, true) },
        ),
      }),
    },
    { weight: 1, arbitrary: fc.constant(present(ref)) },
    { weight: 2, arbitrary: fc.array(value, { maxLength: 4 }).map((some) => oneOf(ref, ...some)) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('^a', '^ab', '^ab.', 'b', '^\u{10ffff}', '^\ud7ff', 'a|^b')
        .map((source) => match(ref.type === 'string' ? ref : team, source)),
    },
  ),
)
const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('filter'), { maxLength: 4 }).map((parts): Filter => ({ kind: 'and', filters: parts })),
    fc.array(tie('filter'), { maxLength: 4 }).map((parts): Filter => ({ kind: 'or', filters: parts })),
    tie('filter').map((part): Filter => ({ kind: 'not', filter: part })),
  ),
}))
const document = fc.record(
  { team: text, state: text, due: time, n: number, is: fc.boolean(), tags: fc.array(text, { maxLength: 3 }) },
  { requiredKeys: [] },
)

describe('a simplified filter', () => {
  test('matches the same documents', () => {
    fc.assert(
      fc.property(filter, fc.array(document, { minLength: 10, maxLength: 10 }), (asked, documents) => {
        const simplified = simplify(asked)
        for (const one of documents) expect(matches(simplified, one)).toBe(matches(asked, one))
      }),
      { numRuns: 10_000 },
    )
  })
})
