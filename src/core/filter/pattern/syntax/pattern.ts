import type { Range } from './code-points.js'

/**
 * A portable pattern as plain JSON, with letter case already expanded. It can only decide whether a text
 * contains a match, so it has no greedy or lazy repeats and no captures. A `set` holds sorted, disjoint
 * ranges of code points. `max: null` means no maximum. `boundary` is the boundary of an ASCII word.
 */
export type Pattern =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'set'; readonly ranges: readonly Range[] }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'boundary'; readonly negated: boolean }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly part: Pattern; readonly min: number; readonly max: number | null }
