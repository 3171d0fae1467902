import { findPositions } from './machine/automaton.js'
import { foldRanges } from './syntax/letter-case.js'
import { countNodes } from './syntax/measure-pattern.js'
import type { Pattern } from './syntax/pattern.js'
import { PatternFault, readSyntax } from './syntax/read-syntax.js'

/** The maximum number of characters of a pattern (CONTRACT.md §3.5). */
const MAX_CHARACTERS = 512
/** The maximum number of nodes of a pattern after its repeats are written out (CONTRACT.md §3.5). */
const MAX_NODES = 1000
/** The maximum number of pairs of nodes that can directly follow each other (CONTRACT.md §3.5). */
const MAX_PAIRS = 20_000

/** Parses a portable pattern. Throws `PatternFault` for anything outside the portable core. */
export type ParsePattern = (source: string, options: { readonly ignoreCase: boolean }) => Pattern

/** Parses a portable pattern (CONTRACT.md §3.5), without a cache. */
export const parsePattern: ParsePattern = (source, options) => {
  if (source.length > 2 * MAX_CHARACTERS || [...source].length > MAX_CHARACTERS)
    throw new PatternFault(`is longer than ${MAX_CHARACTERS} characters`)
  const pattern = readSyntax(source, options.ignoreCase ? foldRanges : undefined)
  refuseLarge(pattern)
  return pattern
}

/** Before its automaton is built, rejects a pattern that is too large after its repeats are written out. */
function refuseLarge(pattern: Pattern): void {
  if (countNodes(pattern) > MAX_NODES)
    throw new PatternFault(`has more than ${MAX_NODES} nodes once its repeats are written out`)
  let pairs = 0
  findPositions(pattern, () => {
    if (++pairs > MAX_PAIRS) {
      throw new PatternFault(
        `has more than ${MAX_PAIRS} pairs of nodes that can follow each other once its repeats are written out`,
      )
    }
  })
}
