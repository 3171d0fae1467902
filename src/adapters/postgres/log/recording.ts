import type { LogPlan, WriteOptions } from '../../../core/storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import type { Bind, SqlDialect, Statement } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { LOG, printBy, type Recorder, type Recording } from '../../sql/log/recorder.js'
import { writeStatement } from '../../sql/statements.js'
import { quoteText } from '../values.js'

/** A recorder that can also record a statement which changes the documents of several steps. */
interface ManyRecorder extends Recorder {
  insertMany(statement: Statement): Statement
  /** The statement joins its table with a subquery `former`, which has the columns `id` and `before`. */
  replaceMany(statement: Statement): Statement
}

/** A recording with a `ManyRecorder` for each logged collection. */
export interface ManyRecording extends Recording {
  of(collection: string): ManyRecorder | undefined
}

/**
 * Creates the recording of a write. Each statement records its own changes, so that a change gets its `seq` while its
 * document is locked. A random label groups the changes of several statements. Further changes of a document are merged into
 * its first change.
 */
export function createRecording(
  engine: SqlEngine,
  plans: LogPlans,
  {
    isOneStatement,
    by = null,
    isMigration = false,
  }: Pick<WriteOptions, 'by' | 'isMigration'> & { readonly isOneStatement: boolean },
): ManyRecording {
  const label = isOneStatement ? null : Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)
  const { dialect } = engine
  return {
    of(collection) {
      const plan = plans.of(collection)
      return (
        plan &&
        createRecorder(engine, {
          collection,
          plan,
          label,
          isMigration,
          by: (bind) => `${bind(printBy(by))}::jsonb ->> 0`,
        })
      )
    },
    forget: writeStatement(
      dialect,
      (bind) =>
        `DELETE FROM ${dialect.ownTable(LOG)} WHERE write = (${bind(label ?? 0)})::bigint AND position IS NULL AND write IS NOT NULL AND before IS NULL AND after IS NULL`,
    ),
  }
}

/** The collection whose changes are recorded, and what all its records have in common. */
interface RecordedTable {
  readonly collection: string
  readonly plan: LogPlan
  readonly label: number | null
  readonly isMigration: boolean
  /** Builds an expression for the caller. */
  readonly by: (bind: Bind) => string
}

type StateColumn = 'before' | 'after'

/**
 * Builds the statement that records the rows of the subquery `changed`, which has the column `id` and the given
 * columns.
 */
function recordChanged(
  { ownTable }: SqlDialect,
  { collection, plan: { omit }, label, isMigration, by }: RecordedTable,
  columns: readonly StateColumn[],
  bind: Bind,
): string {
  const omitted = omit.length > 0 ? ` - ARRAY[${omit.map(quoteText).join(', ')}]` : ''
  const names = ['caller', 'collection', 'id', ...columns]
  const values = [
    `(${by(bind)})`,
    quoteText(collection),
    'changed.id',
    ...columns.map((name) => `changed.${name}${omitted}`),
  ]
  const marked = isMigration ? ([['migration'], ['true']] as const) : ([[], []] as const)
  const insert = (more: readonly string[], value: readonly string[]): string =>
    `INSERT INTO ${ownTable(LOG)} (${[...more, ...marked[0], ...names].join(', ')}) SELECT ${[...value, ...marked[1], ...values].join(', ')} FROM changed`
  if (label === null) return insert([], [])
  return `${insert(['write'], [`(${bind(label)})::bigint`])} ON CONFLICT (write, id, collection) WHERE position IS NULL AND write IS NOT NULL DO UPDATE SET after = excluded.after`
}

/**
 * Builds the statement that records inserted documents, each as a separate write. `by` is an expression for the caller.
 */
export const recordInserted = (
  dialect: SqlDialect,
  target: Pick<RecordedTable, 'collection' | 'plan'> & { readonly by: string },
): string =>
  recordChanged(
    dialect,
    { ...target, label: null, isMigration: false, by: () => target.by },
    ['after'],
    () => '',
  )

/** The columns that a statement returns for each inserted document, so that they can be recorded. */
export const INSERTED = '_id AS id, document AS after'

/** The columns that a statement returns for each replaced document. */
const REPLACED = 'former.id, former.before, document AS after'

function createRecorder({ dialect, statements }: SqlEngine, target: RecordedTable): ManyRecorder {
  const { collection } = target
  const recorded = (
    { text, values }: Statement,
    returning: string,
    columns: readonly StateColumn[],
  ): readonly [Statement] => {
    const all = [...values]
    const record = recordChanged(dialect, target, columns, (value) =>
      dialect.parameter(all.push(value), value),
    )
    return [{ text: `WITH changed AS (${text} RETURNING ${returning}) ${record}`, values: all }]
  }
  return {
    insertMany: (statement) => recorded(statement, INSERTED, ['after'])[0],
    replaceMany: (statement) => recorded(statement, REPLACED, ['before', 'after'])[0],
    insert: (document) => recorded(statements.insert(collection, document), INSERTED, ['after']),
    replace: (document, version) =>
      recorded(statements.swap(collection, document, version), REPLACED, ['before', 'after']),
    remove: (removal) => recorded(removal, '_id AS id, document AS before', ['before']),
  }
}
