import { ServiceError } from '../../errors.js'
import type { WriteResult, WriteStep } from '../../storage.js'
import { applySteps } from './apply-steps.js'
import type { Connection } from './connection.js'
import { explain, isBusy, unavailable } from './faults.js'

/** Writes that arrive together share a transaction, and so one wait for the disk; each has a savepoint of its own. */
export interface WriteQueue {
  write(steps: readonly WriteStep[], signal: AbortSignal | undefined): Promise<WriteResult>
  /** Settles when nothing waits any more. */
  drain(): Promise<void>
}

interface Waiting {
  readonly steps: readonly WriteStep[]
  readonly signal: AbortSignal | undefined
  readonly since: number
  readonly resolve: (result: WriteResult) => void
  readonly reject: (cause: unknown) => void
}

/** Writes of one transaction. */
const MAX_SHARED = 200

/** Milliseconds that a write waits for other processes at most. */
const MAX_WAIT = 5000

/** Milliseconds between attempts, at most. */
const PAUSE = 15

export function createWriteQueue(connection: Connection): WriteQueue {
  let waiting: Waiting[] = []
  let isScheduled = false
  const onDrained: (() => void)[] = []

  const schedule = (milliseconds?: number): void => {
    if (isScheduled) return
    isScheduled = true
    const run = (): void => {
      isScheduled = false
      flush()
    }
    if (milliseconds === undefined) setImmediate(run)
    else setTimeout(run, milliseconds)
  }

  const flush = (): void => {
    dropHopeless()
    if (waiting.length > 0) {
      const pause = tryTransaction()
      if (waiting.length > 0) schedule(pause)
    }
    if (waiting.length === 0) for (const resolve of onDrained.splice(0)) resolve()
  }

  /** Milliseconds to wait before the rest is tried; `undefined` for none. */
  const tryTransaction = (): number | undefined => {
    tryRollback(connection)
    try {
      connection.execute('BEGIN IMMEDIATE')
    } catch (thrown) {
      if (isBusy(thrown)) return 1 + Math.random() * PAUSE
      for (const { reject } of waiting.splice(0)) reject(explain(thrown))
      return undefined
    }
    commitShared(connection, waiting.splice(0, MAX_SHARED))
    return undefined
  }

  const dropHopeless = (): void => {
    const now = performance.now()
    const isHopeless = ({ signal, since }: Waiting): boolean =>
      signal?.aborted === true || now - since > MAX_WAIT
    for (const { reject } of waiting.filter(isHopeless))
      reject(unavailable(new Error('other processes kept writing, or nobody waits any more')))
    waiting = waiting.filter((one) => !isHopeless(one))
  }

  return {
    write: (steps, signal) =>
      new Promise((resolve, reject) => {
        waiting.push({ steps, signal, since: performance.now(), resolve, reject })
        schedule()
      }),
    drain: () =>
      new Promise((resolve) => {
        onDrained.push(resolve)
        schedule()
      }),
  }
}

type Outcome = readonly [write: Waiting, result: WriteResult | { readonly thrown: unknown }]

/** Runs writes in the open transaction. Nobody is told of a result before all of them are on disk. */
function commitShared(connection: Connection, writes: readonly Waiting[]): void {
  try {
    const outcomes = writes.map((write): Outcome => [write, runInSavepoint(connection, write.steps)])
    commit(connection)
    for (const [{ resolve, reject }, result] of outcomes) {
      if ('thrown' in result) reject(result.thrown)
      else resolve(result)
    }
  } catch (thrown) {
    for (const { reject } of writes) reject(explain(thrown))
    tryRollback(connection)
  }
}

/** Where even this fails, it is tried again before the next transaction. */
function tryRollback(connection: Connection): void {
  try {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
  } catch {}
}

/** A commit that fails may have reached the disk all the same. */
function commit(connection: Connection): void {
  try {
    connection.execute('COMMIT')
  } catch (cause) {
    throw new ServiceError('outcome_unknown', 'The database file could not be written.', { cause })
  }
}

/** Throws only where the whole transaction is lost with it. */
function runInSavepoint(
  connection: Connection,
  steps: readonly WriteStep[],
): WriteResult | { readonly thrown: unknown } {
  connection.execute('SAVEPOINT one')
  try {
    const result = applySteps(connection, steps)
    connection.execute(result.ok ? 'RELEASE one' : 'ROLLBACK TO one; RELEASE one')
    return result
  } catch (thrown) {
    if (!connection.isInTransaction) throw thrown
    connection.execute('ROLLBACK TO one; RELEASE one')
    return { thrown: explain(thrown) }
  }
}
