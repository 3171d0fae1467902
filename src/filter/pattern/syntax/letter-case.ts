import { normaliseRanges, type Range } from './code-points.js'

const single = (text: string): number | undefined => {
  const point = text.codePointAt(0)
  return point !== undefined && String.fromCodePoint(point) === text ? point : undefined
}

/** Where the rule below differs from CaseFolding.txt: the dotless i, and three letters whose upper case is several. */
const EXCEPTIONS: ReadonlyMap<number, number> = new Map([
  [0x131, 0x131],
  [0x1fd3, 0x390],
  [0x1fe3, 0x3b0],
  [0xfb05, 0xfb06],
])

/**
 * Unicode simple case folding, from the runtime's own full case mappings: the lower case of the upper case, wherever
 * each is a single code point.
 */
function foldCodePoint(point: number): number {
  const exception = EXCEPTIONS.get(point)
  if (exception !== undefined) return exception
  const upper = single(String.fromCodePoint(point).toUpperCase()) ?? point
  return single(String.fromCodePoint(upper).toLowerCase()) ?? upper
}

/** Beyond this no script has letter case. */
const LAST_CASED = 0x1ffff

/** What a mapping of letter case changes: asked first, for it is cheaper than the mappings. */
const HAS_CASE = /\p{Changes_When_Casemapped}/u

/** What has other cases. */
interface Cased {
  /** In order. */
  readonly points: readonly number[]
  /** For each of them, all code points of the same folding. */
  readonly variants: readonly (readonly number[])[]
}

let known: Cased | undefined

/** Every code point that has other cases. Computed once, when first needed. */
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

/** `ranges` with every other case of what they hold. */
export function foldRanges(ranges: readonly Range[]): readonly Range[] {
  const { points, variants } = findCased()
  const folded: Range[] = [...normaliseRanges(ranges)]
  for (const [first, last] of [...folded]) {
    for (let i = findPlace(points, first); i < points.length && (points[i] ?? 0) <= last; i++) {
      for (const point of variants[i] ?? []) if (point < first || point > last) folded.push([point, point])
    }
  }
  return normaliseRanges(folded)
}

/** Where in a sorted list the first number stands that is not below `wanted`. */
function findPlace(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1
    else high = middle
  }
  return low
}
