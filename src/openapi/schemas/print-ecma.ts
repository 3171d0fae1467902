import { invertRanges, LAST, type Range } from '../../filter/pattern/syntax/code-points.js'
import type { Pattern } from '../../filter/pattern/syntax/pattern.js'
import { type PatternDialect, printPattern } from '../../filter/pattern/syntax/print-pattern.js'

/** ASCII characters without a special meaning anywhere in an expression. */
const PLAIN = /^[A-Za-z0-9 _!"#%&',/:;<=>@`~]$/

function printPoint(point: number): string {
  const character = String.fromCodePoint(point)
  if (PLAIN.test(character)) return character
  const hex = point.toString(16)
  if (point <= 0xff) return `\\x${hex.padStart(2, '0')}`
  return point <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
}

const printRanges = (ranges: readonly Range[]): string =>
  ranges
    .map(([first, last]) => (first === last ? printPoint(first) : `${printPoint(first)}-${printPoint(last)}`))
    .join('')

/** The regular expressions of JSON Schema: ECMAScript, with Unicode. */
const ECMA: PatternDialect = {
  codePoint: printPoint,
  // A set that reaches the end of Unicode is shorter, and easier to read, as its complement.
  set: (ranges) =>
    ranges.at(-1)?.[1] === LAST ? `[^${printRanges(invertRanges(ranges))}]` : `[${printRanges(ranges)}]`,
  start: '^',
  end: '$',
  boundary: '\\b',
  noBoundary: '\\B',
}

/** Prints a portable pattern in the syntax of JSON Schema. */
export const printEcma = (pattern: Pattern): string => printPattern(pattern, ECMA)
