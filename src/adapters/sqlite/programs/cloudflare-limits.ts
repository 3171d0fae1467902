import type { ProgramLimits } from './program-driver.js'

/** The limits of SQLite in Durable Objects and in D1. */
export const LIMITS: ProgramLimits = { parameters: 100, statementBytes: 100_000, depth: 100 }
