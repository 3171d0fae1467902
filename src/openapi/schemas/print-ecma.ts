import { invertRanges, LAST, type Range } from '../../filter/pattern/syntax/code-points.js'
import type { Pattern } from '../../filter/pattern/syntax/pattern.js'
import { type PatternDialect, printPattern } from '../../filter/pattern/syntax/print-pattern.js'

/** ASCII that stands for itself everywhere in an expression. */
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

/** The expressions of JSON Schema: ECMAScript, with Unicode. */
const ECMA: PatternDialect = {
  codePoint: printPoint,
  // What reaches the end of Unicode is shorter, and plainer, as what it leaves out.
  set: (ranges) =>
    ranges.at(-1)?.[1] === LAST ? `[^${printRanges(invertRanges(ranges))}]` : `[${printRanges(ranges)}]`,
  start: '^',
  end: '$',
  boundary: '\\b',
  noBoundary: '\\B',
}

/** Prints a portable pattern as JSON Schema has it. */
export const printEcma = (pattern: Pattern): string => printPattern(pattern, ECMA)
