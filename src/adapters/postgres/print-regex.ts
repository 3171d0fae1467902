import type { Range } from '../../filter/pattern/syntax/code-points.js'
import type { Pattern } from '../../filter/pattern/syntax/pattern.js'
import { type PatternDialect, printPattern } from '../../filter/pattern/syntax/print-pattern.js'

/** PostgreSQL's advanced regular expressions, with the collation "C". */
const ARE: PatternDialect = {
  codePoint: (point) => `\\U${point.toString(16).padStart(8, '0')}`,
  start: '\\A',
  end: '\\Z',
  boundary: '\\y',
  noBoundary: '\\Y',
}

/** The largest bound of a repeat in PostgreSQL. */
const MAX_REPEAT = 255

/** Prints a pattern for PostgreSQL; `undefined` if PostgreSQL cannot express it. */
export function printRegex(pattern: Pattern): string | undefined {
  const sayable = toSayable(pattern)
  return sayable && printPattern(sayable, ARE)
}

/** The same pattern with the constructs that PostgreSQL has. */
function toSayable(pattern: Pattern): Pattern | undefined {
  switch (pattern.kind) {
    case 'set': {
      // PostgreSQL allows U+0000 in neither texts nor expressions.
      const ranges = pattern.ranges
        .map(([first, last]): Range => [Math.max(first, 1), last])
        .filter(([first, last]) => first <= last)
      return ranges.length === 0 ? undefined : { kind: 'set', ranges }
    }
    case 'sequence':
    case 'choice': {
      const parts = pattern.parts.map(toSayable)
      const sayable = parts.filter((part) => part !== undefined)
      return sayable.length === parts.length ? { kind: pattern.kind, parts: sayable } : undefined
    }
    case 'repeat': {
      if (pattern.min > MAX_REPEAT || (pattern.max ?? 0) > MAX_REPEAT) return undefined
      const part = toSayable(pattern.part)
      return part && { ...pattern, part }
    }
    default:
      return pattern
  }
}
