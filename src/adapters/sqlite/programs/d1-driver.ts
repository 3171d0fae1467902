import { LIMITS } from './cloudflare-limits.js'
import { overBatch } from './over-batch.js'
import type { ProgramDriver, ProgramResult } from './program-driver.js'

/** A database of D1: the binding of a Worker. */
export interface D1Binding {
  prepare(text: string): { bind(...values: (string | number)[]): unknown }
  batch(
    statements: unknown[],
  ): Promise<
    readonly { readonly results: readonly unknown[]; readonly meta: { readonly changes?: number } }[]
  >
}

/** Creates the driver of a D1 database. */
export const createD1Driver = (database: D1Binding): ProgramDriver =>
  overBatch({
    limits: LIMITS,
    async sendBatch(statements) {
      const bound = statements.map(({ text, values }) => database.prepare(text).bind(...values))
      const results = await database.batch(bound)
      return results.map(
        ({ results: rows, meta }): ProgramResult => ({
          rows: rows.map(firstColumn),
          changes: meta.changes ?? 0,
        }),
      )
    },
  })

const firstColumn = (row: unknown): unknown => Object.values(Object(row))[0]
