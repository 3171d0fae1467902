import { reasonOf } from './faults.js'
import {
  isRead,
  type ProgramDriver,
  type ProgramLimits,
  type ProgramOutcome,
  type ProgramResult,
  type ProgramStatement,
} from './program-driver.js'

/** An engine that runs in this thread, and whose database nothing else uses. */
export interface ProgramSession {
  readonly limits: ProgramLimits
  run(statement: ProgramStatement): ProgramResult
  /** Runs statements in a transaction. If `work` throws, rolls back and throws the same error. */
  transact<T>(work: () => T): T
}

/** Thrown inside a transaction if a statement returned or changed another number of rows than expected. */
class Unexpected extends Error {
  readonly statement: number

  constructor(statement: number) {
    super('a statement returned or changed another number of rows than expected')
    this.statement = statement
  }
}

/** Creates the driver of an engine that runs in this thread. It compares the numbers of rows itself. */
export const overSession = (session: ProgramSession): ProgramDriver => ({
  limits: session.limits,
  isShared: false,
  read: (statements) => statements.map((statement) => session.run(statement)),
  write: (program) => runProgram(session, program),
})

function runProgram(session: ProgramSession, program: readonly ProgramStatement[]): ProgramOutcome {
  let isDone = false
  try {
    const results = session.transact(() => {
      const all = program.map((statement, i) => {
        const result = session.run(statement)
        const count = isRead(statement) ? result.rows.length : result.changes
        if (count !== (statement.expect ?? count)) throw new Unexpected(i)
        return result
      })
      isDone = true
      return all
    })
    return { ok: true, results }
  } catch (cause) {
    if (cause instanceof Unexpected) return { ok: false, reason: 'expected', statement: cause.statement }
    // If only the commit failed, the program may have taken effect.
    return { ok: false, reason: reasonOf(cause, isDone ? 'unknown' : 'failed'), cause }
  }
}
