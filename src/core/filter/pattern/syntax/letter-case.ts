import { findPlace } from '../../compare.js'
import { invertRanges, normaliseRanges, type Range } from './code-points.js'

const single = (text: string): number | undefined => {
  const point = text.codePointAt(0)
  return point !== undefined && String.fromCodePoint(point) === text ? point : undefined
}

/**
 * The code points for which the mappings of `foldCodePoint` differ from CaseFolding.txt: the dotless i, and
 * three letters whose upper case has several code points.
 */
const EXCEPTIONS: ReadonlyMap<number, number> = new Map([
  [0x131, 0x131],
  [0x1fd3, 0x390],
  [0x1fe3, 0x3b0],
  [0xfb05, 0xfb06],
])

/**
 * Returns the Unicode simple case folding of a code point: the lower case of its upper case, from the full
 * case mappings of the runtime. A mapping to several code points is ignored.
 */
function foldCodePoint(point: number): number {
  const exception = EXCEPTIONS.get(point)
  if (exception !== undefined) return exception
  const upper = single(String.fromCodePoint(point).toUpperCase()) ?? point
  return single(String.fromCodePoint(upper).toLowerCase()) ?? upper
}

/** The last code point that is searched for letter case. No script beyond it has letter case. */
const LAST_CASED = 0x1ffff

/** Matches characters that a case mapping changes. This test is cheaper than the mappings. */
const HAS_CASE = /\p{Changes_When_Casemapped}/u

/** The code points that have another letter case. */
interface Cased {
  /** The code points in ascending order. */
  readonly points: readonly number[]
  /** For each of `points`, all code points with the same case folding. */
  readonly variants: readonly (readonly number[])[]
}

let known: Cased | undefined

/** Finds every code point that has another letter case. Computed on first use. */
function findCased(): Cased {
  if (known) return known
  const byFold = new Map<number, number[]>()
  for (let point = 0; point <= LAST_CASED; point++) {
    if (!HAS_CASE.test(String.fromCodePoint(point))) continue
    const fold = foldCodePoint(point)
    if (fold === point) continue
    const group = byFold.get(fold)
    if (group) group.push(point)
    else byFold.set(fold, [fold, point])
  }
  const cased = [...byFold.values()].flatMap((group) => group.map((point) => ({ point, group })))
  cased.sort((a, b) => a.point - b.point)
  known = { points: cased.map(({ point }) => point), variants: cased.map(({ group }) => group) }
  return known
}

/** Adds every other letter case of the code points in `ranges`. */
export function foldRanges(ranges: readonly Range[]): readonly Range[] {
  const { points, variants } = findCased()
  const folded: Range[] = [...normaliseRanges(ranges)]
  for (const [first, last] of [...folded]) {
    const start = findPlace(0, points.length, (i) => (points[i] ?? 0) < first)
    for (let i = start; i < points.length && (points[i] ?? 0) <= last; i++) {
      for (const point of variants[i] ?? []) if (point < first || point > last) folded.push([point, point])
    }
  }
  return normaliseRanges(folded)
}

/** Returns the code points whose lower case is in `ranges`. A lower case of several code points is ignored. */
export function unlowerRanges(ranges: readonly Range[]): readonly Range[] {
  const isIn = (point: number): boolean => ranges.some(([first, last]) => first <= point && point <= last)
  const lowerOf = (point: number): number => single(String.fromCodePoint(point).toLowerCase()) ?? point
  const changed = findCased().points.filter((point) => lowerOf(point) !== point)
  const toRange = (point: number): Range => [point, point]
  const others = invertRanges([...invertRanges(ranges), ...changed.map(toRange)])
  return normaliseRanges([...others, ...changed.filter((point) => isIn(lowerOf(point))).map(toRange)])
}
