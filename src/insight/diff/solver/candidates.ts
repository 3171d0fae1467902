import type { ComparableType, Scalar } from '../../../filter/filter.js'
import { compareText } from '../../../json/compare-text.js'

/** Facts about values that are compared with each other. */
export interface ComparedValues {
  readonly type: ComparableType
  /** The values that some condition names. */
  readonly named: readonly Scalar[]
  /** The most of them that may have to differ. */
  readonly count: number
}

/**
 * The values that conditions can tell apart: the named ones, and between, before and after them as many as there may be
 * different ones. Whole numbers between two others are enumerated.
 */
export function findCandidates({ type, named, count }: ComparedValues): readonly Scalar[] {
  switch (type) {
    case 'boolean':
      return [true, false]
    case 'string':
      return between(textsOf(named), compareText, (low, high) => textsBetween(low, high, count))
    case 'timestamp': {
      const times = textsOf(named).filter((text) => Number.isFinite(Date.parse(text)))
      return between(times, compareText, (low, high) => timesBetween(low, high, count))
    }
    case 'integer':
      return between(numbersOf(named), byNumber, (low, high) => wholesBetween(low, high, count))
    case 'number':
      return between(numbersOf(named), byNumber, (low, high) => numbersBetween(low, high, count))
    default:
      return type satisfies never
  }
}

const byNumber = (a: number, b: number): number => a - b

const textsOf = (values: readonly Scalar[]): readonly string[] =>
  values.filter((value) => typeof value === 'string')
const numbersOf = (values: readonly Scalar[]): readonly number[] =>
  values.filter((value) => typeof value === 'number')

/** The named values first, then those in the gaps. */
function between<T extends Scalar>(
  named: readonly T[],
  compare: (a: T, b: T) => number,
  find: (low: T | undefined, high: T | undefined) => readonly T[],
): readonly T[] {
  const sorted = [...new Set(named)].sort(compare)
  const ends: readonly (T | undefined)[] = [undefined, ...sorted]
  const gaps = ends.flatMap((low, i) => find(low, sorted[i]))
  return [...sorted, ...gaps.filter((value) => !sorted.includes(value))]
}

const LETTERS: readonly string[] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'A', 'B', '0', '1', ' ', '~']

/** Texts between two others; the first text after `low` is `low` with the least character appended. */
function textsBetween(low: string | undefined, high: string | undefined, count: number): readonly string[] {
  const bottom = low ?? ''
  const found = new Set<string>()
  const add = (text: string): void => {
    const isAbove = low === undefined || compareText(text, low) > 0
    if (found.size < count && isAbove && (high === undefined || compareText(text, high) < 0)) found.add(text)
  }
  for (const letter of LETTERS) {
    if (found.size === count) break
    add(letter)
    add(bottom + letter)
  }
  for (let i = 0; i < count; i++) add(bottom + '\u0001'.repeat(i + (low === undefined ? 0 : 1)))
  return [...found]
}

const FIRST_TIME = Date.parse('0001-01-01T00:00:00.000Z')
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z')
const SOME_TIME = Date.parse('2026-01-01T00:00:00.000Z')
const DAY = 86_400_000

function timesBetween(low: string | undefined, high: string | undefined, count: number): readonly string[] {
  const from = low === undefined ? FIRST_TIME - 1 : Date.parse(low)
  const to = high === undefined ? LAST_TIME + 1 : Date.parse(high)
  const start = low !== undefined ? from : high !== undefined ? to : SOME_TIME
  const days = Array.from({ length: count }, (_, i) => start + (low === undefined ? -1 : 1) * (i + 1) * DAY)
  const close = Array.from({ length: count }, (_, i) => from + i + 1)
  return [...new Set([...days, ...close])]
    .filter((time) => time > from && time < to)
    .slice(0, count)
    .map((time) => new Date(time).toISOString())
}

function wholesBetween(low: number | undefined, high: number | undefined, count: number): readonly number[] {
  const from = low === undefined ? undefined : Math.floor(low) + 1
  const to = high === undefined ? undefined : Math.ceil(high) - 1
  const found: number[] = []
  for (let i = 0; found.length < count; i++) {
    const value = from !== undefined ? from + i : to !== undefined ? to - i : i
    const isInside = (to === undefined || value <= to) && (from === undefined || value >= from)
    if (!isInside || !Number.isSafeInteger(value)) break
    found.push(value)
  }
  return found
}

function numbersBetween(low: number | undefined, high: number | undefined, count: number): readonly number[] {
  if (low === undefined || high === undefined) return wholesBetween(low, high, count)
  const found: number[] = []
  let bottom = low
  while (found.length < count) {
    const middle = bottom + (high - bottom) / 2
    if (!(middle > bottom && middle < high)) break
    found.push(middle)
    bottom = middle
  }
  return found
}
