import { createPatternStore } from '../../../../core/filter/pattern/pattern-store.js'

/** Parses a pattern as a service does: the pattern carries its compiled matcher, which each query reuses. */
export const { parse: parsePattern } = createPatternStore()
