import { createPatternStore } from '../../../filter/pattern/pattern-store.js'

/** Parses a pattern as a service does: it carries its matcher, which then is not made anew for each question. */
export const { parse: parsePattern } = createPatternStore()
