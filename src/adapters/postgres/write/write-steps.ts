import { compareText } from '../../../json/compare-text.js'
import type { Turn, WriteStep } from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { applySteps, type StepsOutcome, type TakenValue } from '../../sql/apply-steps.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { findTaken } from '../../sql/find-taken.js'
import { pinnedIds } from '../../sql/pinned-ids.js'
import { drive } from '../connection/drive.js'
import { type DatabaseSession, HEARD, LOCK_MILLISECONDS, type RunStatement } from '../connection/session.js'
import { BOUND_IDLE, BOUND_STATEMENT, inTransaction } from '../connection/transaction.js'
import { explain, explainWrite, isRepeatable } from '../faults.js'
import { createRecording } from '../log/recording.js'
import { createInsertMany } from './insert-many.js'

/**
 * Begins the transaction of a write. Its first statement locks the rows that its steps name, in one order for all
 * writes (`nameDocuments`), and each statement sees all earlier commits. So a search (a `refuse`, a `remove` by other
 * properties than `_id`) after the change of a document sees all writes that locked the document before, and later
 * ones wait for this write: row locks suffice, and unrelated writes never wait. A stricter isolation level would not
 * see writes at another level, and one snapshot for all statements would miss commits that this write has waited for.
 */
const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED',
  // The transaction must end by itself, because writes are never cancelled. None of these limits counts while it
  // commits.
  BOUND_STATEMENT,
  BOUND_IDLE,
  `SET LOCAL lock_timeout = '${LOCK_MILLISECONDS / 1000}s'`,
  `SET LOCAL client_min_messages = ${HEARD}`,
].join('; ')

/**
 * Takes the turns of a write as its first locks, in one order for all writes, until it ends. A write that holds row
 * locks never waits for a turn.
 */
function takeTurns({ table }: SqlDialect, steps: readonly WriteStep[]): string {
  const turns = new Map<string, Turn>()
  for (const step of steps)
    if ('refuse' in step && step.turn && turns.get(step.in) !== 'alone') turns.set(step.in, step.turn)
  const locks = [...turns].sort(([one], [other]) => compareText(one, other))
  return locks
    .map(([collection, turn]) => {
      const lock = turn === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared'
      return `; SELECT ${lock}(hashtextextended('collection-service ${table(collection)}', 0))`
    })
    .join('')
}

/** Applies steps in turn: inserts together, or one by one after one of them was rejected. */
export async function writeSteps(
  session: DatabaseSession,
  plain: SqlEngine,
  { steps, by }: { readonly steps: readonly WriteStep[]; readonly by: string | null },
  plans: LogPlans,
): Promise<StepsOutcome> {
  const recording = plans.records(steps)
    ? createRecording(plain, plans, { isOneStatement: isOneStatement(steps), by })
    : undefined
  const engine = recording ? { ...plain, recording } : plain
  try {
    return await writeOnce(
      session,
      { ...engine, insertMany: createInsertMany(engine.dialect, recording) },
      steps,
    )
  } catch (thrown) {
    if (engine.takenBy(thrown) === undefined) throw thrown
    return writeOnce(session, engine, steps)
  }
}

/** Applies steps in a transaction, unless they are a single statement. */
async function writeOnce(
  { run, write }: DatabaseSession,
  engine: SqlEngine,
  steps: readonly WriteStep[],
): Promise<StepsOutcome> {
  // Before a commit nothing has happened, even if the connection is lost.
  let mayHaveHappened = isOneStatement(steps)
  const applyAll = async (): Promise<StepsOutcome> => {
    const outcome = await drive(run, applySteps(engine, steps))
    mayHaveHappened = isOk(outcome)
    return outcome
  }
  try {
    if (mayHaveHappened) return await drive(write, applySteps(engine, steps))
    return await inTransaction(run, `${BEGIN}${takeTurns(engine.dialect, steps)}`, applyAll, isOk)
  } catch (thrown) {
    throw isRepeatable(thrown) ? thrown : mayHaveHappened ? explainWrite(thrown) : explain(thrown)
  }
}

/** The taken fields of a rejected step, after the steps before it, which are rolled back. */
export async function explainTaken(
  run: RunStatement,
  engine: SqlEngine,
  steps: readonly WriteStep[],
  taken: TakenValue,
): Promise<readonly string[]> {
  const before = steps.slice(0, taken.step)
  const find = (): Promise<readonly string[]> => drive(run, findTaken(engine, taken))
  let fields: readonly string[] | undefined
  if (before.length > 0) {
    const look = async (): Promise<void> => {
      const together = { ...engine, insertMany: createInsertMany(engine.dialect) }
      if (isOk(await drive(run, applySteps(together, before)))) fields = await find()
    }
    await inTransaction(run, BEGIN, look, () => false).catch((thrown: unknown) => {
      // Another write may have taken a value of the earlier steps meanwhile.
      if (engine.takenBy(thrown) === undefined) throw thrown
    })
  }
  return fields ?? find()
}

const isOk = (outcome: StepsOutcome): boolean => 'ok' in outcome && outcome.ok

/** Whether there is one step, which affects one document by its `_id` and depends on no other. */
function isOneStatement([step, ...others]: readonly WriteStep[]): boolean {
  if (!step || others.length > 0) return false
  if ('remove' in step) return (step.expect ?? 1) === 1 && pinnedIds(step.remove)?.length === 1
  return 'insert' in step || 'replace' in step
}
