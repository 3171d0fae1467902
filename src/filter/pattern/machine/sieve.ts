import type { Slice } from '../../../slices.js'
import type { Pattern } from '../syntax/pattern.js'
import { findLiteral } from './literal.js'
import type { Place } from './machine.js'

/** Says of a text what can be said without looking at each of its characters. It goes on from a place, and moves it. */
export type Sieve = (place: Place, slice: Slice) => boolean | 'perhaps' | undefined

/** Units of a text that are sought: a runtime's own search may compare all of them at each place. */
const MAX_SOUGHT = 6
/** Units of a text that are searched at once. */
const WINDOW = 0x4000
/** Units of text that a step lasts for: some runtimes' worst case is four times that. */
const UNITS_PER_STEP = 16
/** Comparisons that are left to the runtime, whatever it makes of them. */
const FEW = 0x1000

/**
 * Creates the sieve of a pattern, if it has one: what does not hold the text that every match holds has no match.
 */
export function createSieve(pattern: Pattern): Sieve | undefined {
  const literal = isAnchored(pattern) ? '' : findLiteral(pattern)
  const isAll = pattern.kind === 'text'
  if (literal === '') return isAll ? () => true : undefined
  const sought = literal.slice(0, MAX_SOUGHT)
  const found = isAll && sought === literal ? true : 'perhaps'

  return (place, slice) => {
    const { text } = place
    if (isAll && text.length * literal.length <= FEW) {
      slice.left -= 1 + text.length / UNITS_PER_STEP
      return text.includes(literal)
    }
    do {
      const window =
        text.length <= WINDOW ? text : text.slice(place.at, place.at + WINDOW + sought.length - 1)
      slice.left -= 1 + window.length / UNITS_PER_STEP
      if (window.includes(sought)) return found
      place.at += WINDOW
      if (place.at >= text.length) return false
    } while (slice.left > 0)
    return undefined
  }
}

/** Whether a search ends at once where the text does not begin as it should. */
const isAnchored = (pattern: Pattern): boolean =>
  pattern.kind === 'start' || (pattern.kind === 'sequence' && pattern.parts[0]?.kind === 'start')
