import type { ProgramLimits } from './program-driver.js'

/**
 * The limits of SQLite in Durable Objects and in D1. A row has at most 2,000,000 bytes, so two versions of a document
 * leave some space for its other columns.
 */
export const LIMITS: ProgramLimits = {
  parameters: 100,
  statementBytes: 100_000,
  depth: 100,
  documentBytes: 950_000,
}
