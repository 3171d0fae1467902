import type { SqlEngine } from '../../sql/engine.js'

/** A schema of PostgreSQL, and the names of its tables. */
export interface Place {
  readonly schema: string
  readonly engine: SqlEngine
}

/** The table that records structures. */
export const tableOf = ({ engine }: Place): string => engine.dialect.structures.table
