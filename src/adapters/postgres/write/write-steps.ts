import { compareText } from '../../../core/json/compare-text.js'
import type {
  LogPlan,
  StoredDocument,
  Turn,
  WriteOptions,
  WriteResult,
  WriteStep,
} from '../../../core/storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { applySteps, NotJoined, type StepsOutcome, type TakenValue } from '../../sql/apply-steps.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { findTaken } from '../../sql/find-taken.js'
import { printBy } from '../../sql/log/recorder.js'
import { pinnedIds } from '../../sql/pinned-ids.js'
import { type Batch, type BatchWork, createBatch } from '../connection/batch.js'
import { drive } from '../connection/drive.js'
import type { Connections, WorkCaller } from '../connection/lease.js'
import {
  type DatabaseSession,
  HEARD,
  LOCK_MILLISECONDS,
  type RowsRead,
  type RunStatement,
} from '../connection/session.js'
import { BOUND_IDLE, BOUND_STATEMENT, inTransaction } from '../connection/transaction.js'
import { explain, explainWrite, isLost, isRepeatable, outcomeUnknown, unavailable } from '../faults.js'
import { createRecording, INSERTED, recordInserted } from '../log/recording.js'
import { isLarge } from './is-large.js'
import { createJoin, type UniqueOf } from './join-steps.js'

/** The maximum length of a document that is created in one statement with others, in characters. */
const SMALL = 8192

/** Milliseconds for which a shared statement waits for the locks of other writes. */
const PATIENCE = 50

/** Creates a document. */
type Create = (
  step: Extract<WriteStep, { readonly insert: StoredDocument }>,
  caller: WriteCaller,
) => Promise<StepsOutcome>

/** A document to create. */
interface Fresh {
  readonly id: string
  readonly text: string
  readonly by: string | null
  readonly mayBeLong?: boolean
}

/** Prints the callers of documents as a JSON object with the `_id`s as keys. */
const printCallers = (fresh: readonly Fresh[]): string =>
  JSON.stringify(Object.fromEntries(fresh.flatMap(({ id, by }) => (by === null ? [] : [[id, by]]))))

const DONE: StepsOutcome = { ok: true, removed: 0 }

const done = (): StepsOutcome => DONE

/**
 * Builds the statement that creates one document, and the statement that creates several. With `plan`, they also record
 * the changes.
 */
function writeCreates(dialect: SqlDialect, collection: string, plan: LogPlan | undefined) {
  const table = dialect.table(collection)
  const record = (by: string): string | undefined => plan && recordInserted(dialect, { collection, plan, by })
  const [recordOne, recordAll] = [record('$3::text::jsonb ->> 0'), record('$2::text::jsonb ->> changed.id')]
  const one = `INSERT INTO ${table} (_id, document) VALUES ($1::text, $2::text::jsonb)`
  // Another write may have locked a unique value. This statement soon stops waiting for it, and its documents are
  // retried one by one, so that only those with this value wait. On a pool of the host application, no other limit
  // applies.
  const patience = `SELECT set_config('lock_timeout', '${PATIENCE}ms', true) AS is_set`
  const all = `WITH patience AS MATERIALIZED (${patience}),
changed AS (INSERT INTO ${table} (_id, document) SELECT document ->> '_id', document FROM patience, jsonb_array_elements($1::text::jsonb) AS document ON CONFLICT DO NOTHING RETURNING ${recordAll ? INSERTED : '_id AS id'})${recordAll ? `,\nrecorded AS (${recordAll})` : ''}
SELECT json_agg(id)::text FROM changed`
  return {
    one: recordOne ? `WITH changed AS (${one} RETURNING ${INSERTED}) ${recordOne}` : one,
    all,
    isRecorded: plan !== undefined,
  }
}

/** Creates the work of a batch that creates documents in one collection. */
function createIn(
  collection: string,
  { dialect, takenBy }: SqlEngine,
  use: Connections['use'],
  plans: LogPlans,
): BatchWork<Fresh, StepsOutcome> {
  let known = plans.of(collection)
  let texts = writeCreates(dialect, collection, known)
  /** Returns the statements for the current plan, which changes if the adapter is opened again. */
  const write = (): typeof texts => {
    const plan = plans.of(collection)
    if (plan !== known) texts = writeCreates(dialect, collection, plan)
    known = plan
    return texts
  }
  return {
    leaving: (cause, isSent) => (isSent ? outcomeUnknown(cause) : unavailable(cause)),
    async together(fresh, shared) {
      const { all, isRecorded } = write()
      const list = `[${fresh.map(({ text }) => text).join(',')}]`
      const values = isRecorded ? [list, printCallers(fresh)] : [list]
      const send = ({ write }: DatabaseSession): Promise<RowsRead> => {
        shared.isSent = true
        return write(all, values, PATIENCE)
      }
      const creating = use(send, shared, { writes: true })
      const { rows } = await creating.catch((thrown: unknown) => {
        throw isLost(thrown) ? explainWrite(thrown) : thrown
      })
      const [[ids] = []] = rows
      const created = new Set(JSON.parse(ids ?? '[]') as readonly string[])
      // A document that was not created is retried alone, to find out which value is taken.
      return fresh.map(({ id }) => (created.delete(id) ? DONE : undefined))
    },
    alone({ id, text, by, mayBeLong = false }, caller) {
      const toOutcome = (thrown: unknown): StepsOutcome => {
        const index = takenBy(thrown)
        if (index === undefined) throw isRepeatable(thrown) ? thrown : explainWrite(thrown)
        const document = JSON.parse(text) as StoredDocument
        return { taken: { step: 0, collection, document, isNew: true, index } }
      }
      const { one, isRecorded } = write()
      const values = isRecorded ? [id, text, printBy(by)] : [id, text]
      const creating = ({ write }: DatabaseSession): Promise<StepsOutcome> =>
        write(one, values).then(done, toOutcome)
      return use(creating, caller, { mayBeLong, writes: true })
    },
  }
}

/** Creates the function that creates documents. Small documents that arrive together share a statement. */
function createCreate(engine: SqlEngine, use: Connections['use'], plans: LogPlans): Create {
  const workOf = (collection: string): BatchWork<Fresh, StepsOutcome> =>
    createIn(collection, engine, use, plans)
  const batches = new Map<string, Batch<Fresh, StepsOutcome>>()
  return (step, caller) => {
    const { in: collection, insert } = step
    const text = JSON.stringify(insert)
    const fresh = { id: insert._id, text, by: caller.by ?? null }
    if (text.length > SMALL) return workOf(collection).alone({ ...fresh, mayBeLong: isLarge([step]) }, caller)
    const batch = batches.get(collection) ?? createBatch(workOf(collection))
    batches.set(collection, batch)
    return batch(fresh, caller)
  }
}

/**
 * Begins the transaction of a write. Its first statement locks the rows that the steps name (`nameDocuments`), in the
 * same order in all writes, and each statement sees all commits before it. So a search (a `refuse`, or a `remove` by
 * other properties than `_id`) after the change of a document sees all writes that locked this document earlier, and
 * writes that lock it later wait until this write ends. Row locks are therefore enough, and unrelated writes never
 * wait. Stricter isolation would not help: it does not detect conflicts with writes at another isolation level, and
 * statements with one common snapshot would miss commits for which this write has waited.
 */
const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED',
  // The transaction must end by itself, because writes are never cancelled. These limits do not apply to the commit.
  BOUND_STATEMENT,
  BOUND_IDLE,
  `SET LOCAL lock_timeout = '${LOCK_MILLISECONDS / 1000}s'`,
  `SET LOCAL client_min_messages = ${HEARD}`,
].join('; ')

/**
 * Builds the statements that take the locks for the turns of a write (`Turn`), in the same order in all writes. They
 * are the first locks of the write, so that it never waits for a turn while it holds row locks. They last until the
 * write ends.
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

type WriteCaller = WorkCaller & Pick<WriteOptions, 'by' | 'isMigration'>

/** Creates the function that applies the steps of a write, all or none. */
export function createWrite(
  engine: SqlEngine,
  use: Connections['use'],
  plans: LogPlans,
  uniqueOf: UniqueOf,
): (steps: readonly WriteStep[], caller: WriteCaller) => Promise<WriteResult> {
  const create = createCreate(engine, use, plans)
  const apply = (steps: readonly WriteStep[], caller: WriteCaller): Promise<StepsOutcome> => {
    const [step, ...others] = steps
    // Creates of several callers share a statement, which marks none of them.
    if (step && 'insert' in step && others.length === 0 && !caller.isMigration) return create(step, caller)
    const { by = null, isMigration = false } = caller
    const work = { steps, by, isMigration }
    const options = { mayBeLong: isLarge(steps), writes: true }
    return use((session) => writeSteps(session, engine, work, { plans, uniqueOf }), caller, options)
  }
  return async (steps, caller) => {
    if (steps.length === 0) return { ok: true, removed: 0 }
    const outcome = await apply(steps, caller)
    if (!('taken' in outcome)) return outcome
    // This needs a new transaction, because the violation has ended the first one.
    const { taken } = outcome
    const joining = { ...engine, join: createJoin(engine.dialect, uniqueOf) }
    const fields = await use(({ run }) => explainTaken(run, { engine, joining }, steps, taken), caller)
    return { ok: false, step: taken.step, reason: 'unique', fields }
  }
}

/**
 * Applies steps one after another. Consecutive inserts share a statement, and so do consecutive replaces. If such a
 * statement fails, all steps are applied again, each by itself.
 */
async function writeSteps(
  session: DatabaseSession,
  plain: SqlEngine,
  { steps, ...author }: Pick<WriteOptions, 'by' | 'isMigration'> & { readonly steps: readonly WriteStep[] },
  { plans, uniqueOf }: { readonly plans: LogPlans; readonly uniqueOf: UniqueOf },
): Promise<StepsOutcome> {
  const recording = plans.records(steps)
    ? createRecording(plain, plans, { isOneStatement: isOneStatement(steps), ...author })
    : undefined
  const engine = recording ? { ...plain, recording } : plain
  try {
    return await writeOnce(
      session,
      { ...engine, join: createJoin(engine.dialect, uniqueOf, recording) },
      steps,
    )
  } catch (thrown) {
    if (!(thrown instanceof NotJoined) && engine.takenBy(thrown) === undefined) throw thrown
    return writeOnce(session, engine, steps)
  }
}

/** Applies steps in a transaction, unless they are a single statement. */
async function writeOnce(
  { run, write }: DatabaseSession,
  engine: SqlEngine,
  steps: readonly WriteStep[],
): Promise<StepsOutcome> {
  // Before the commit, nothing has happened, even if the connection is lost. A single statement commits by itself.
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

/**
 * Returns the fields whose values were taken when a step was rejected. To find them, the steps before it are applied
 * again and rolled back.
 */
async function explainTaken(
  run: RunStatement,
  { engine, joining }: { readonly engine: SqlEngine; readonly joining: SqlEngine },
  steps: readonly WriteStep[],
  taken: TakenValue,
): Promise<readonly string[]> {
  const before = steps.slice(0, taken.step)
  const find = (): Promise<readonly string[]> => drive(run, findTaken(engine, taken))
  let fields: readonly string[] | undefined
  if (before.length > 0) {
    const look = async (): Promise<void> => {
      if (isOk(await drive(run, applySteps(joining, before)))) fields = await find()
    }
    await inTransaction(run, BEGIN, look, () => false).catch((thrown: unknown) => {
      // Since the rejection, another write may have changed the documents, or taken a value, of the earlier steps.
      if (!(thrown instanceof NotJoined) && engine.takenBy(thrown) === undefined) throw thrown
    })
  }
  return fields ?? find()
}

const isOk = (outcome: StepsOutcome): boolean => 'ok' in outcome && outcome.ok

/**
 * Whether a write is one statement: a single step that affects one document by its `_id` and depends on no other
 * document.
 */
function isOneStatement([step, ...others]: readonly WriteStep[]): boolean {
  if (!step || others.length > 0) return false
  if ('remove' in step) return (step.expect ?? 1) === 1 && pinnedIds(step.remove)?.length === 1
  return 'insert' in step || 'replace' in step
}
