import { createBoundedMap } from '../bounded-map.js'
import { attachMatcher } from './compile-pattern.js'
import { type ParsePattern, parsePattern } from './parse-pattern.js'
import { createStore } from './store.js'
import type { Pattern } from './syntax/pattern.js'

/** The patterns of one service: the latest ones, and what searches have learnt of them. */
export interface PatternStore {
  readonly parse: ParsePattern
  /** Bytes that what searches have learnt takes at present. */
  readonly bytes: number
}

/** Bytes that patterns take which are kept. */
const PATTERN_BYTES = 2 * 1024 * 1024
/** Bytes that what searches have learnt takes at most. */
const MACHINES_BYTES = 16 * 1024 * 1024

/** Creates a store of patterns. Each pattern carries its matcher, to whatever filters documents by it. */
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

/** About what a pattern takes, kept with its source. */
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
