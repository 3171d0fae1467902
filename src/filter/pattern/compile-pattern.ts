import { endless, type Slice } from '../../slices.js'
import { createMachine, type Place } from './machine/machine.js'
import { createSieve } from './machine/sieve.js'
import { createStore } from './store.js'
import type { Pattern } from './syntax/pattern.js'

/** Says whether a text contains a match. */
export interface Matcher {
  readonly test: (text: string) => boolean
  /** Begins a search that can pause. */
  search(text: string): TextSearch
}

/** A search through one text: what it has found, or `undefined` where the slice was used up first. */
export interface TextSearch {
  goOn(slice: Slice): boolean | undefined
}

/** Bytes that what searches have learnt takes, over all patterns of a process. */
const ALL_MACHINES_BYTES = 16 * 1024 * 1024

const machines = createStore(ALL_MACHINES_BYTES)

/** How many bytes that is at present. */
export const countPatternBytes = (): number => machines.bytes

const compiled = new WeakMap<Pattern, Matcher>()

/** Compiles a pattern to a matcher whose time is linear in the text, whatever the pattern. */
export function compilePattern(pattern: Pattern): Matcher {
  const known = compiled.get(pattern)
  if (known) return known
  const matcher = createMatcher(pattern)
  compiled.set(pattern, matcher)
  return matcher
}

function createMatcher(pattern: Pattern): Matcher {
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

/** A search, first for a text that every match holds, which is cheaper, then for a match. */
interface Search extends Place {
  isSifting: boolean
}
