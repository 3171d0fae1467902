import type { Range } from './code-points.js'

/**
 * A portable pattern as plain JSON, already expanded for letter case. It only tells whether a text contains a
 * match, so it has no greed and no captures. A `set` holds sorted, disjoint ranges of code points; `max:
 * null` is unbounded; `boundary` is that of ASCII words.
 */
export type Pattern =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'set'; readonly ranges: readonly Range[] }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'boundary'; readonly negated: boolean }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly part: Pattern; readonly min: number; readonly max: number | null }
