import type { Range } from './code-points.js'
import type { Pattern } from './pattern.js'

/** The parts of the pattern syntax that differ between regular expression engines. */
export interface PatternDialect {
  readonly codePoint: (point: number) => string
  /** Prints a set. By default, `codePoint` prints both ends of each range. */
  readonly set?: (ranges: readonly Range[]) => string
  readonly start: string
  readonly end: string
  readonly boundary: string
  readonly noBoundary: string
}

/** The syntax of JavaScript, with the flag `u`. */
export const JAVASCRIPT: PatternDialect = {
  codePoint: (point) => `\\u{${point.toString(16)}}`,
  start: '^',
  end: '$',
  boundary: '\\b',
  noBoundary: '\\B',
}

/** Prints a pattern in the syntax of a regular expression engine. */
export function printPattern(pattern: Pattern, dialect: PatternDialect): string {
  switch (pattern.kind) {
    case 'text':
      return [...pattern.text].map((character) => printCharacter(character, dialect)).join('')
    case 'set':
      return printSet(pattern.ranges, dialect)
    case 'start':
    case 'end':
      return dialect[pattern.kind]
    case 'boundary':
      return pattern.negated ? dialect.noBoundary : dialect.boundary
    case 'sequence':
      return pattern.parts.map((part) => printPart(part, dialect)).join('')
    case 'choice':
      return pattern.parts.map((part) => printPattern(part, dialect)).join('|')
    case 'repeat':
      return `(?:${printPattern(pattern.part, dialect)})${printBounds(pattern.min, pattern.max)}`
    default:
      return pattern satisfies never
  }
}

const printPart = (part: Pattern, dialect: PatternDialect): string =>
  part.kind === 'choice' ? `(?:${printPattern(part, dialect)})` : printPattern(part, dialect)

const printCharacter = (character: string, { codePoint }: PatternDialect): string =>
  /^[A-Za-z0-9]$/.test(character) ? character : codePoint(character.codePointAt(0) ?? 0)

function printSet(ranges: readonly Range[], { codePoint, set }: PatternDialect): string {
  if (set) return set(ranges)
  if (ranges.length === 0) return `[^${codePoint(0)}-${codePoint(0x10ffff)}]`
  return `[${ranges.map(([first, last]) => `${codePoint(first)}-${codePoint(last)}`).join('')}]`
}

function printBounds(min: number, max: number | null): string {
  if (max === null && min < 2) return min === 0 ? '*' : '+'
  if (min === 0 && max === 1) return '?'
  return `{${min},${max ?? ''}}`
}
