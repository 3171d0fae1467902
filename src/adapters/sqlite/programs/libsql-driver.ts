import { overBatch } from './over-batch.js'
import { isRead, type ProgramDriver, type ProgramLimits, type ProgramResult } from './program-driver.js'

/** A client of `@libsql/client`, as far as the adapter uses it. */
export interface LibsqlClient {
  /** `file` for a file of this machine; otherwise how a server is reached. */
  readonly protocol: string
  execute(text: string): Promise<unknown>
  batch(
    statements: { sql: string; args: (string | number)[] }[],
    mode: 'read' | 'write',
  ): Promise<
    readonly {
      readonly rows: readonly { readonly [column: number]: unknown }[]
      readonly rowsAffected: number
    }[]
  >
}

/**
 * The limits of a server with its default settings: a row has at most 5,000,000 bytes. The parser has a stack of 100. A
 * file has the same limits, so that its service can move to a server.
 */
const LIMITS: ProgramLimits = {
  parameters: 1000,
  statementBytes: 1_000_000,
  depth: 100,
  documentBytes: 2_400_000,
}

/** Creates the driver of a libSQL database. */
export const createLibsqlDriver = (client: LibsqlClient): ProgramDriver =>
  overBatch({
    limits: LIMITS,
    async sendBatch(statements) {
      const sent = statements.map(({ text, values }) => ({ sql: text, args: [...values] }))
      const results = await client.batch(sent, statements.every(isRead) ? 'read' : 'write')
      return results.map(
        ({ rows, rowsAffected }): ProgramResult => ({
          rows: rows.map((row) => row[0]),
          changes: rowsAffected,
        }),
      )
    },
  })
