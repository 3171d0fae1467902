/** A range of code points from the first to the last, both included. */
export type Range = readonly [first: number, last: number]

/** The last code point of Unicode. */
export const LAST = 0x10ffff

/** The characters of ASCII words: letters, digits and the underscore. */
export const WORD_RANGES: readonly Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]

/** Sorts ranges and joins those that overlap or touch. */
export function normaliseRanges(ranges: readonly Range[]): readonly Range[] {
  const joined: [number, number][] = []
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const previous = joined.at(-1)
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else joined.push([first, last])
  }
  return joined
}

/** Returns all code points outside `ranges`. */
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
