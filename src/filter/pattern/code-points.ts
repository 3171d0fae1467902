/** Code points from the first to the second, both included. */
export type Range = readonly [first: number, last: number]

const LAST = 0x10ffff

/** Sorts ranges and joins those that touch. */
export function normaliseRanges(ranges: readonly Range[]): readonly Range[] {
  const joined: [number, number][] = []
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const previous = joined.at(-1)
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else joined.push([first, last])
  }
  return joined
}

/** All code points outside `ranges`. */
export function invertRanges(ranges: readonly Range[]): readonly Range[] {
  const outside: Range[] = []
  let next = 0
  for (const [first, last] of normaliseRanges(ranges)) {
    if (first > next) outside.push([next, first - 1])
    next = last + 1
  }
  if (next <= LAST) outside.push([next, LAST])
  return outside
}

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
export function foldCodePoint(point: number): number {
  const exception = EXCEPTIONS.get(point)
  if (exception !== undefined) return exception
  const upper = single(String.fromCodePoint(point).toUpperCase()) ?? point
  return single(String.fromCodePoint(upper).toLowerCase()) ?? upper
}

/** Beyond this no script has letter case. */
const LAST_CASED = 0x1ffff

let variants: ReadonlyMap<number, readonly number[]> | undefined

/** Every code point that has other cases, with all code points of the same folding. Computed once, when first needed. */
function caseVariants(): ReadonlyMap<number, readonly number[]> {
  if (variants) return variants
  const byFold = new Map<number, number[]>()
  for (let point = 0; point <= LAST_CASED; point++) {
    const fold = foldCodePoint(point)
    if (fold === point) continue
    const group = byFold.get(fold)
    if (group) group.push(point)
    else byFold.set(fold, [fold, point])
  }
  const byPoint = new Map<number, readonly number[]>()
  for (const group of byFold.values()) for (const point of group) byPoint.set(point, group)
  variants = byPoint
  return byPoint
}

/** `ranges` with every other case of what they hold. */
export function foldRanges(ranges: readonly Range[]): readonly Range[] {
  const variants = caseVariants()
  const folded: Range[] = [...ranges]
  const add = (group: readonly number[]): void => {
    for (const variant of group) folded.push([variant, variant])
  }
  for (const [first, last] of ranges) {
    if (last - first < variants.size) {
      for (let point = first; point <= last; point++) add(variants.get(point) ?? [])
    } else {
      for (const [point, group] of variants) if (first <= point && point <= last) add(group)
    }
  }
  return normaliseRanges(folded)
}
