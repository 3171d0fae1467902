import type { Pattern } from './pattern.js'

/** Returns the number of nodes of a pattern after its repeats are written out. */
export function countNodes(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'text':
      return [...pattern.text].length
    case 'sequence':
    case 'choice':
      return pattern.parts.reduce(
        (total, part) => total + countNodes(part),
        pattern.kind === 'choice' ? 1 : 0,
      )
    case 'repeat':
      return Math.max(1, countNodes(pattern.part)) * Math.max(1, pattern.max ?? pattern.min)
    default:
      return 1
  }
}

/**
 * Returns how many paths through a pattern a backtracking engine may try at one index of a text; infinite for a pattern
 * that it must not run.
 */
export function countPaths(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'sequence':
      return pattern.parts.reduce((total, part) => total * countPaths(part), 1)
    case 'choice':
      return pattern.parts.reduce((total, part) => total + countPaths(part), 0)
    case 'repeat':
      if (pattern.max === null) return Number.POSITIVE_INFINITY
      return countPaths(pattern.part) ** pattern.max * (pattern.max - pattern.min + 1)
    case 'boundary':
      // In V8, \B also holds inside a surrogate pair.
      return pattern.negated ? Number.POSITIVE_INFINITY : 1
    default:
      return 1
  }
}
