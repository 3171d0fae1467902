import type { LogPlan, StoredDocument, WriteOptions, WriteStep } from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import type { StepsOutcome } from '../../sql/apply-steps.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { printBy } from '../../sql/log/recorder.js'
import { type BatchWork, createBatches } from '../connection/batch.js'
import type { Connections, WorkCaller } from '../connection/connections.js'
import type { RowsRead } from '../connection/row-query.js'
import type { DatabaseSession } from '../connection/session.js'
import type { Watch } from '../connection/watch.js'
import { explainWrite, isLost, isRepeatable, outcomeUnknown, unavailable } from '../faults.js'
import { INSERTED, recordInserted } from '../log/recording.js'
import { isLarge } from './is-large.js'

/** The most characters of a document that is created in a shared statement. */
const SMALL = 8192

/** Milliseconds for which a shared statement waits for the locks of other writes. */
const PATIENCE = 50

/** Creates a document. */
export type Create = (
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
