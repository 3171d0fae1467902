import { createBoundedMap } from '../bounded-map.js'
import { attachMatcher } from './compile-pattern.js'
import { type ParsePattern, parsePattern } from './parse-pattern.js'
import { createStore } from './store.js'
import type { Pattern } from './syntax/pattern.js'

/** The patterns of one service: the latest ones, and the states that their searches computed. */
export interface PatternStore {
  readonly parse: ParsePattern
  /** The bytes of these states. */
  readonly bytes: number
}

/** The most bytes of kept patterns. */
const PATTERN_BYTES = 2 * 1024 * 1024
/** The most bytes of the states that searches computed. */
const MACHINES_BYTES = 16 * 1024 * 1024

/** Creates a store of patterns. Each pattern carries its matcher to the code that filters by it. */
export function createPatternStore(): PatternStore {
  const patterns = createBoundedMap<string, Pattern>(PATTERN_BYTES, countBytes)
  const machines = createStore(MACHINES_BYTES)
  return {
    parse(source, options) {
      const key = `${options.ignoreCase ? 'i' : ''}/${source}`
      const known = patterns.get(key)
      if (known) return known
      const pattern = parsePattern(source, options)
      attachMatcher(pattern, machines)
      patterns.set(key, pattern)
      return pattern
    },
    get bytes() {
      return machines.bytes
    },
  }
}

/** The approximate bytes of a pattern and its source. */
function countBytes(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'text':
      return 100 + 6 * pattern.text.length
    case 'set':
      return 100 + 60 * pattern.ranges.length
    case 'sequence':
    case 'choice':
      return pattern.parts.reduce((total, part) => total + countBytes(part), 100)
    case 'repeat':
      return 100 + countBytes(pattern.part)
    default:
      return 100
  }
}
