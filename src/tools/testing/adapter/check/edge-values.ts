import { isComparable } from '../../../../core/filter/compare.js'
import type { ComparableType, Scalar, ValueType } from '../../../../core/filter/filter.js'

/** Timestamps in their stored form. The last one is no real time, but only the form matters. */
const TIMESTAMPS: readonly string[] = [
  '2026-11-20T08:00:00.000Z',
  '2026-11-20T08:00:00.001Z',
  '1969-12-31T23:59:59.999Z',
  '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
  '9999-99-99T99:99:99.999Z',
]

const NEARLY_TIMESTAMPS: readonly string[] = [
  '2026-11-20',
  '2026-11-20T08:00:00Z',
  '2026-11-20T08:00:00.000+00:00',
  '2026-11-20t08:00:00.000z',
  '2026-11-20 08:00:00.000Z',
  '2026-11-20T08:00:00.00\u0663Z',
  '2026-11-20T08:00:00.0001Z',
  '2026-11-20T08:00:00.000Z\n',
  '\n2026-11-20T08:00:00.000Z',
]

/**
 * Strings that databases confuse: pairs that differ in case, composition or Unicode plane, and strings with wildcards,
 * quotes, numbers or JSON.
 */
// biome-ignore format: a table
const TEXTS: readonly string[] = [
  '', ' ', 'a', 'A', 'b', 'B', 'a ', ' a', 'aB', 'ab', 'z', 'Z', 'foo bar', 'Foo Bar', 'foo\nbar',
  '\u00e9', 'e\u0301', '\u00e4', 'na\u00efve', 'NA\u00cfVE', 'i', 'I', '\u0130', '\u0131', 's', 'S', '\u017f',
  'ss', '\u00df', '\u1e9e', 'stra\u00dfe', 'k', 'K', '\u212a', '\u03c3', '\u03c2', '\u03a3', '\u01c5', '\ufb01',
  '\u0663', '\u00a0', '\u2028', '\u200d', '\uffff', '\ue000', '\ufffd', '\ufeff', '\u{10000}', '\u{10ffff}',
  '\u{1f600}', 'a\uffff', 'a\u{1f600}', '\u0001', '\u007f',
  '%', '_', 'a%', '%a', 'a_b', 'axb', '*', '?', '.', '\\', '\\\\', '\\%', "'", "''", '"', '`', '$1', ':a',
  '\n', 'a\nb', 'a\r\nb', '\t', 'a\n', '\na',
  '0', '1', '9', '10', '01', '1.0', '1e3', '-1', '+1', 'NaN', 'Infinity',
  'null', 'true', 'false', 't', 'f', '[]', '{}', '"a"', '[1]', '__proto__',
]

/** Each line contains strings that are easily confused with each other or sorted in the wrong order. */
// biome-ignore format: a table
export const confusableTexts: readonly (readonly string[])[] = [
  ['\uffff', '\ue000', '\ufffd', '\u{10000}', '\u{1f600}', '\u{10ffff}'],
  ['a\uffff', 'a\u{1f600}', 'a', 'z'],
  ['a', 'A', 'b', 'B', 'aB', 'ab', 'Foo Bar', 'foo bar'],
  ['\u00e9', 'e\u0301', 'na\u00efve', 'NA\u00cfVE', 'z'],
  ['i', 'I', '\u0130', '\u0131', 's', 'S', '\u017f', 'ss', '\u00df', '\u1e9e', 'k', '\u212a', '\u03c3', '\u03c2'],
  ['\n', 'a\nb', 'a\r\nb', 'a\n', '\na', 'foo\nbar', 'foo bar'],
  ['%', '_', 'a%', '%a', 'a_b', 'axb', '\\', '\\%'],
  ['0', '1', '9', '10', '01', '1.0', '1e3', '-1'],
  ['', ' ', 'a', 'a ', ' a'],
  ['null', 'true', '[]', '{}', '"a"', 'a'],
  [...TIMESTAMPS, ...NEARLY_TIMESTAMPS],
]

/** Edge values of numbers. No integer is beyond 2^53 - 1, so doubles represent all integers exactly. */
const NUMBERS: readonly number[] = [
  ...[0, 1, -1, 2, 9, 10, -10, 100],
  ...[1.5, -1.5, 0.1, 0.2, 0.3, 0.1 + 0.2, 1e-7, 123456789.125, 4503599627370495.5],
  ...[Number.MIN_VALUE, -Number.MIN_VALUE, 2.2250738585072014e-308],
  ...[2 ** 31 - 1, 2 ** 31, 2 ** 32, -(2 ** 31) - 1, 1e15],
  ...[Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1, Number.MIN_SAFE_INTEGER],
]

const INTEGERS = NUMBERS.filter(Number.isInteger)
const BOOLEANS: readonly boolean[] = [false, true]
const OBJECTS: readonly object[] = [{}, { b: 1 }, { b: null }, { b: { b: 'a' } }]
const ARRAYS: readonly (readonly unknown[])[] = [
  [],
  [null],
  [1],
  ['a'],
  [['a']],
  [{ b: 'a' }],
  [1, 'a', true, null],
]

/** Edge values of each type. */
export const valuesOfType: { readonly [type in ValueType]: readonly unknown[] } = {
  string: [...TEXTS, ...TIMESTAMPS, ...NEARLY_TIMESTAMPS],
  timestamp: TIMESTAMPS,
  number: NUMBERS,
  integer: INTEGERS,
  boolean: BOOLEANS,
  object: OBJECTS,
  array: ARRAYS,
  json: ['a', 1, false, {}, []],
}

/** Every edge value that can be compared and ordered. */
export const scalars: readonly Scalar[] = [
  ...TEXTS,
  ...TIMESTAMPS,
  ...NEARLY_TIMESTAMPS,
  ...NUMBERS,
  ...BOOLEANS,
]

/** Every edge value, including `null`, objects and arrays. */
export const anyValues: readonly unknown[] = [...scalars, null, ...OBJECTS, ...ARRAYS]

/** Every type that a field can have. */
export const valueTypes = Object.keys(valuesOfType) as readonly ValueType[]

/** The types whose values can be compared and ordered. */
export const scalarTypes = valueTypes.filter(isComparable)

/** Returns the operands for order comparisons with a type, which are values of the same JavaScript type. */
export function operandsOf(type: ComparableType): readonly Scalar[] {
  switch (type) {
    case 'string':
    case 'timestamp':
      return scalars.filter((value) => typeof value === 'string')
    case 'number':
    case 'integer':
      return NUMBERS
    case 'boolean':
      return BOOLEANS
    default:
      return type satisfies never
  }
}
