import type { Slice } from '../../../slices.js'
import type { Pattern } from '../syntax/pattern.js'
import type { SearchState } from './machine.js'

/** The literal text that a part of a pattern contains. */
interface Literals {
  /** The only string that the part matches; `undefined` if it matches several. */
  readonly exact: string | undefined
  /** The longest string that every match of the part contains. */
  readonly longest: string
}

const NONE: Literals = { exact: undefined, longest: '' }

const only = (text: string): Literals => ({ exact: text, longest: text })

/**
 * Returns the longest string that every match of a pattern contains. A text without this string has no match.
 */
const findLiteral = (pattern: Pattern): string => find(pattern).longest

function find(pattern: Pattern): Literals {
  switch (pattern.kind) {
    case 'text':
      return only(pattern.text)
    case 'set': {
      const [[first, last] = [0, 1], ...others] = pattern.ranges
      return first === last && others.length === 0 ? only(String.fromCodePoint(first)) : NONE
    }
    case 'start':
    case 'end':
    case 'boundary':
      return only('')
    case 'sequence':
      return joinAll(pattern.parts.map(find))
    case 'choice':
      return NONE
    case 'repeat': {
      if (pattern.min === 0) return NONE
      const part = find(pattern.part)
      if (part.exact === undefined) return part
      const repeated = part.exact.repeat(pattern.min)
      return { exact: pattern.max === pattern.min ? repeated : undefined, longest: repeated }
    }
    default:
      return pattern satisfies never
  }
}

function joinAll(parts: readonly Literals[]): Literals {
  let longest = ''
  let run = ''
  const offer = (text: string): void => {
    if (text.length > longest.length) longest = text
  }
  for (const part of parts) {
    offer(part.longest)
    run = part.exact === undefined ? '' : run + part.exact
    offer(run)
  }
  return { exact: parts.every(({ exact }) => exact !== undefined) ? run : undefined, longest }
}

/**
 * Searches a text for a literal. Returns `perhaps` if the literal alone does not decide whether the text
 * matches, and `undefined` if the slice is used up. It records its progress in `place`.
 */
export type PlainSearch = (place: SearchState, slice: Slice) => boolean | 'perhaps' | undefined

/**
 * The maximum number of UTF-16 units of a literal to search for, because the runtime may compare all of them
 * at each index.
 */
const MAX_SOUGHT = 6
/** The number of UTF-16 units that one call of the runtime's search covers. Between calls, the search can pause. */
const WINDOW = 0x4000
/** The number of UTF-16 units that count as one step. In the worst case, some runtimes take four times as long. */
const UNITS_PER_STEP = 16
/** Up to this many comparisons, a search by the runtime is cheap even in the worst case. */
const FEW = 0x1000

/** Whether the runtime's own search for a literal is cheap even in the worst case. */
export const isCheap = (text: string, literal: string): boolean => text.length * literal.length <= FEW

/** Returns the number of steps of a search that `isCheap`. */
export const stepsToSearch = (text: string): number => 1 + text.length / UNITS_PER_STEP

/**
 * Creates a search for a literal, which rejects most texts without a match. Returns `undefined` if the
 * pattern requires no literal.
 */
export function createSieve(pattern: Pattern): PlainSearch | undefined {
  const literal = isAnchored(pattern) ? '' : findLiteral(pattern)
  const isAll = pattern.kind === 'text'
  if (literal === '') return isAll ? () => true : undefined
  const sought = literal.slice(0, MAX_SOUGHT)
  const found = isAll && sought === literal ? true : 'perhaps'

  return (place, slice) => {
    const { text } = place
    if (isAll && isCheap(text, literal)) {
      slice.left -= stepsToSearch(text)
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

/** Whether a pattern only matches at the start of the text, so that its search ends soon anyway. */
const isAnchored = (pattern: Pattern): boolean =>
  pattern.kind === 'start' || (pattern.kind === 'sequence' && pattern.parts[0]?.kind === 'start')
