import { endless, type Slice } from '../../slices.js'
import { createMachine, type SearchState } from './machine/machine.js'
import { createSieve } from './machine/sieve.js'
import type { Pattern } from './syntax/pattern.js'
import { createValueCache, type ValueCache } from './value-cache.js'

/** Tests whether a text contains a match of a pattern. */
export interface Matcher {
  readonly test: (text: string) => boolean
  /** Starts a search that can pause. */
  search(text: string): TextSearch
}

/** A search through one text. `goOn` returns the answer, or `undefined` when the slice is used up. */
export interface TextSearch {
  goOn(slice: Slice): boolean | undefined
}

/**
 * The property that contains the matcher of a pattern. JSON has no symbols, so copies and serialized patterns
 * have no matcher.
 */
const MATCHER = Symbol('matcher')

/** Attaches a matcher to a pattern. `machines` caches the states that searches compute. */
export function attachMatcher(pattern: Pattern, machines: ValueCache): void {
  Object.defineProperty(pattern, MATCHER, { value: createMatcher(pattern, machines) })
}

/**
 * Returns the matcher attached to a pattern, or creates one. For every pattern, it takes time linear in the
 * length of the text.
 */
export const compilePattern = (pattern: Pattern): Matcher =>
  (pattern as { readonly [MATCHER]?: Matcher })[MATCHER] ??
  createMatcher(pattern, createValueCache(Number.POSITIVE_INFINITY))

function createMatcher(pattern: Pattern, machines: ValueCache): Matcher {
  const machine = machines.keep((onGrow) => createMachine(pattern, onGrow))
  const sieve = createSieve(pattern)
  const goOn = (search: Search, slice: Slice): boolean | undefined => {
    if (search.isSifting && sieve) {
      const answer = sieve(search, slice)
      if (answer !== 'perhaps') return answer
      search.isSifting = false
      search.at = 0
    }
    return machine().run(search, slice)
  }
  const begin = (text: string): Search => ({ text, at: 0, set: undefined, isSifting: true })
  return {
    test: (text) => goOn(begin(text), forever) === true,
    search(text) {
      const search = begin(text)
      return { goOn: (slice) => goOn(search, slice) }
    },
  }
}

const forever = endless()

/**
 * The progress of a search. At first (`isSifting`), the search looks for a literal that every match contains,
 * which is cheap. Then it looks for a match.
 */
interface Search extends SearchState {
  isSifting: boolean
}
