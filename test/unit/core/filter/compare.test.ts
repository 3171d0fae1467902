import { describe, expect, test } from 'vitest'
import { compare, holdsType, type Ordered } from '../../../../src/core/filter/compare.js'
import type { ValueType } from '../../../../src/core/filter/filter.js'
import { compareText } from '../../../../src/core/json/compare-text.js'

// CONTRACT.md §3.4, §3.6

/** One step between any two neighbours. */
const ASCENDING: readonly Ordered[] = [
  undefined,
  false,
  true,
  Number.NEGATIVE_INFINITY,
  -1.5,
  -1,
  0,
  5e-324,
  0.1,
  1,
  2,
  10,
  9007199254740991,
  '',
  '\t',
  ' ',
  '0',
  '10',
  '2',
  'A',
  'Z',
  'a',
  'aa',
  'ab',
  'b',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10000}a',
  '\u{1f600}',
  '\u{10ffff}',
]

describe('the order of values', () => {
  test('is missing, false, true, numbers, strings by code point', () => {
    for (const [i, a] of ASCENDING.entries()) {
      for (const [j, b] of ASCENDING.entries()) {
        expect(Math.sign(compare(a, b)), `${String(a)} and ${String(b)}`).toBe(Math.sign(i - j))
      }
    }
  })
  test('sorts from any beginning', () => {
    const shuffled = ASCENDING.map((value, i) => [value, (i * 17) % ASCENDING.length] as const)
      .sort(([, a], [, b]) => a - b)
      .map(([value]) => value)
    // `sort` puts `undefined` last by itself, so that it is wrapped.
    const sorted = shuffled.map((value) => ({ value })).sort((a, b) => compare(a.value, b.value))
    expect(sorted.map(({ value }) => value)).toEqual(ASCENDING)
  })
  test('has −0 where 0 is', () => {
    expect(compare(-0, 0)).toBe(0)
    expect(compare(-0, -1)).toBeGreaterThan(0)
  })
})

describe('the order of texts', () => {
  test.each([
    ['a', 'a', 0],
    ['', 'a', -1],
    ['ab', 'a', 1],
    ['Z', 'a', -1],
    ['\uffff', '\u{10000}', -1],
    ['\u{1f600}x', '\u{1f600}y', -1],
    ['\u{1f600}', '\u{1f601}', -1],
    ['a\u{1f600}', 'a\ufffd', 1],
    // Composed and decomposed are different texts.
    ['é', 'e\u0301', 1],
  ])('%j and %j: %i', (a, b, expected) => {
    expect(Math.sign(compareText(a, b))).toBe(expected)
    expect(Math.sign(compareText(b, a))).toBe(expected === 0 ? 0 : -expected)
  })
  test('agrees with the bytes of UTF-8, as databases compare them', () => {
    const texts = ASCENDING.filter((value) => typeof value === 'string')
    for (const a of texts) {
      for (const b of texts)
        expect(Math.sign(compareText(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }
  })
})

describe('a stored value is of a declared type', () => {
  const samples: { readonly [name: string]: unknown } = {
    text: 'a',
    empty: '',
    stamp: '2026-01-01T00:00:00.000Z',
    date: '2026-01-01',
    offset: '2026-01-01T00:00:00+01:00',
    zero: 0,
    whole: 5,
    part: 1.5,
    yes: true,
    no: false,
    list: [],
    numbers: [1],
    object: {},
    null: null,
    missing: undefined,
  }
  const texts = ['text', 'empty', 'stamp', 'date', 'offset']
  const expected: { readonly [type in ValueType]: readonly string[] } = {
    string: texts,
    timestamp: ['stamp'],
    number: ['zero', 'whole', 'part'],
    integer: ['zero', 'whole'],
    boolean: ['yes', 'no'],
    array: ['list', 'numbers'],
    object: ['object'],
    json: [...texts, 'zero', 'whole', 'part', 'yes', 'no', 'list', 'numbers', 'object'],
  }
  test.each(Object.entries(expected) as [ValueType, readonly string[]][])('%s', (type, names) => {
    const holding = Object.keys(samples).filter((name) => holdsType(type)(samples[name]))
    expect(holding).toEqual(names)
  })
})
