import { createBoundedMap } from '../../kept/bounded-map.js'
import { CACHES } from '../../kept/caches.js'
import { attachMatcher, createMachineCache } from './compile-pattern.js'
import { type ParsePattern, parsePattern } from './parse-pattern.js'
import type { Pattern } from './syntax/pattern.js'

/** The cache of one service: its most recent patterns, and the states that their searches computed. */
interface PatternStore {
  readonly parse: ParsePattern
  /** The bytes of patterns and states combined. */
  readonly bytes: number
}

/** The maximum number of bytes of cached patterns. */
const PATTERN_BYTES = 2 * 1024 * 1024
/** The maximum number of bytes of the states that searches computed. */
const MACHINES_BYTES = 16 * 1024 * 1024

/** The bytes of a matcher, of its cache entries, and of a small compiled `RegExp`. */
const EACH = 3000

/**
 * Creates a store of patterns. Each pattern carries its matcher, so that a filter can use it without the
 * store.
 */
export function createPatternStore(): PatternStore {
  const patterns = createBoundedMap<string, Pattern>(CACHES.patterns, PATTERN_BYTES)
  const machines = createMachineCache(MACHINES_BYTES)
  return {
    parse(source, options) {
      const key = `${options.ignoreCase ? 'i' : ''}/${source}`
      const known = patterns.get(key)
      if (known) return known
      const pattern = parsePattern(source, options)
      attachMatcher(pattern, machines)
      patterns.set(key, pattern, EACH + 2 * key.length + countBytes(pattern))
      return pattern
    },
    get bytes() {
      return machines.size() + patterns.size()
    },
  }
}

/** Estimates the bytes of a pattern: its objects and arrays in V8, and what its matcher compiles and stores. */
function countBytes(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'text':
      return 100 + 6 * pattern.text.length
    case 'set':
      return 600 + 80 * pattern.ranges.length
    case 'sequence':
    case 'choice':
      return pattern.parts.reduce((total, part) => total + 16 + countBytes(part), 100)
    case 'repeat':
      return 100 + countBytes(pattern.part)
    default:
      return 100
  }
}
