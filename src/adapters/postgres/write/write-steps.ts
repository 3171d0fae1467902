import { bounds } from '../../../core/bounds.js'
import { compareText } from '../../../core/json/compare-text.js'
import type { LogPlan, StoredDocument, Turn, WriteOptions, WriteStep } from '../../../core/storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { applySteps, type StepsOutcome, type TakenValue } from '../../sql/apply-steps.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { Inserts, SqlEngine } from '../../sql/engine.js'
import { findTaken } from '../../sql/find-taken.js'
import { printBy } from '../../sql/log/recorder.js'
import { pinnedIds } from '../../sql/pinned-ids.js'
import { type BatchWork, createBatches } from '../connection/batch.js'
import type { Connections, WorkCaller } from '../connection/connections.js'
import { drive } from '../connection/drive.js'
import {
  type DatabaseSession,
  HEARD,
  LOCK_MILLISECONDS,
  type RowsRead,
  type RunStatement,
} from '../connection/session.js'
import { BOUND_IDLE, BOUND_STATEMENT, inTransaction } from '../connection/transaction.js'
import type { Watch } from '../connection/watch.js'
import { explain, explainWrite, isLost, isRepeatable, outcomeUnknown, unavailable } from '../faults.js'
import { createRecording, INSERTED, type ManyRecording, recordInserted } from '../log/recording.js'
import { isLarge } from './is-large.js'

/** The most characters of a document that is created in a shared statement. */
const SMALL = 8192

/** Milliseconds for which a shared statement waits for the locks of other writes. */
const PATIENCE = 50

/** Creates a document. */
type Create = (
  step: Extract<WriteStep, { readonly insert: StoredDocument }>,
  caller: WorkCaller & Pick<WriteOptions, 'by'>,
) => Promise<StepsOutcome>

/** A document to create. */
interface Fresh {
  readonly id: string
  readonly text: string
  readonly by: string | null
  readonly mayBeLong?: boolean
}

/** The callers of documents, by `_id`. */
const printCallers = (fresh: readonly Fresh[]): string =>
  JSON.stringify(Object.fromEntries(fresh.flatMap(({ id, by }) => (by === null ? [] : [[id, by]]))))

const DONE: StepsOutcome = { ok: true, removed: 0 }

const done = (): StepsOutcome => DONE

/** The statements that create one document and several; with `plan` they also record changes. */
function writeCreates(dialect: SqlDialect, collection: string, plan: LogPlan | undefined) {
  const table = dialect.table(collection)
  const record = (by: string): string | undefined => plan && recordInserted(dialect, { collection, plan, by })
  const [recordOne, recordAll] = [record('$3::text::jsonb ->> 0'), record('$2::text::jsonb ->> changed.id')]
  const one = `INSERT INTO ${table} (_id, document) VALUES ($1::text, $2::text::jsonb)`
  // A value locked by another write must only delay the documents that use it: they are retried alone. Over a host's
  // pool no other limit applies.
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

/** Creates the work of a batch: the creation of documents in a collection. */
function createIn(
  collection: string,
  { dialect, takenBy }: SqlEngine,
  use: Connections['use'],
  plans: LogPlans,
): BatchWork<Fresh, StepsOutcome> {
  let known = plans.of(collection)
  let texts = writeCreates(dialect, collection, known)
  /** The plan changes if the adapter is opened again. */
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
      // A rejected document is retried alone, which finds the taken value.
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

/** Creates the function that creates documents: small ones that arrive together share a statement. */
export function createCreate(
  engine: SqlEngine,
  use: Connections['use'],
  watch: Watch,
  plans: LogPlans,
): Create {
  const workOf = (collection: string): BatchWork<Fresh, StepsOutcome> =>
    createIn(collection, engine, use, plans)
  const batches = createBatches(watch, workOf)
  return (step, caller) => {
    const { in: collection, insert } = step
    const text = JSON.stringify(insert)
    const fresh = { id: insert._id, text, by: caller.by ?? null }
    if (text.length <= SMALL) return batches(collection)(fresh, caller)
    return workOf(collection).alone({ ...fresh, mayBeLong: isLarge([step]) }, caller)
  }
}

/** Inserts the documents of several steps in one statement. */
const createInsertMany =
  ({ table }: SqlDialect, recording?: ManyRecording) =>
  (steps: readonly WriteStep[], from: number, isSkipped: (place: number) => boolean): Inserts => {
    const collection = steps[from]?.in ?? ''
    const texts: string[] = []
    let size = 0
    let next = from
    for (let i = from; i < steps.length && size < bounds.insertedCharacters; i++) {
      const step = steps[i]
      if (isSkipped(i)) continue
      if (!step || step.in !== collection || !('insert' in step)) break
      const text = JSON.stringify(step.insert)
      texts.push(text)
      size += text.length
      next = i + 1
    }
    const text = `INSERT INTO ${table(collection)} (_id, document) SELECT document ->> '_id', document FROM jsonb_array_elements($1::text::jsonb) AS document`
    const insert = { text, values: [`[${texts.join(',')}]`] }
    return { ...(recording?.of(collection)?.insertMany(insert) ?? insert), next }
  }

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
