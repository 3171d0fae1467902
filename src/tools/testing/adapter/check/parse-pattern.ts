import { createPatternStore } from '../../../../core/filter/pattern/pattern-store.js'

/** Parses a pattern as a service does. The pattern contains its compiled matcher, so that all queries reuse it. */
export const { parse: parsePattern } = createPatternStore()
