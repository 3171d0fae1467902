import { type Filter, isId } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../../storage.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { Statements } from '../../sql/statements.js'
import type { RunStatement } from '../connection/connections.js'
import { inTransaction } from '../connection/transaction.js'
import { explain, explainWrite, isRepeatable, isTaken } from '../faults.js'
import { parseListed } from '../read/parse-documents.js'
import { holdRequired } from './hold-required.js'

type Refused = Extract<WriteResult, { readonly ok: false }>
type Refusal = Pick<Refused, 'reason' | 'fields'>

/** A unique index refused the document of a step; which one is found out when the transaction is over. */
export interface Taken {
  readonly step: number
  readonly document: StoredDocument
  /** Whether it was to be new, so that its `_id` may be what is taken. */
  readonly isNew: boolean
  readonly cause: unknown
}

export type Outcome = WriteResult | { readonly taken: Taken }

/** How steps become statements. */
export interface StepWriter {
  /** Whether one step is one statement that needs no transaction around it. */
  readonly isSingle: (steps: readonly WriteStep[]) => boolean
  readonly applySingle: (run: RunStatement, step: WriteStep) => Promise<Outcome>
  readonly applyAll: (run: RunStatement, steps: readonly WriteStep[]) => Promise<Outcome>
}

export function createStepWriter(dialect: SqlDialect, statements: Statements): StepWriter {
  const versionOf = dialect.value({ path: '_version', type: 'integer', each: false })

  const applyStep = async (run: RunStatement, step: WriteStep): Promise<number | Refusal> => {
    const table = dialect.table(step.in)
    if ('insert' in step) {
      const { insert: document } = step
      await run(`INSERT INTO ${table} (_id, document) VALUES ($1, $2::jsonb)`, [
        document._id,
        JSON.stringify(document),
      ])
      return 0
    }
    if ('replace' in step) {
      const { replace: document, version } = step
      const { rowCount } = await run(
        `UPDATE ${table} SET document = $2::jsonb WHERE _id = $1 AND ${versionOf} = $3::float8`,
        [document._id, JSON.stringify(document), version],
      )
      return rowCount === 1 ? 0 : { reason: 'changed' }
    }
    if ('remove' in step) {
      const removed = await remove(run, step.in, step.remove)
      return step.expect === undefined || step.expect === removed ? removed : { reason: 'changed' }
    }
    if ('require' in step) {
      const { missing } = await holdRequired(run, dialect, [step])
      return missing === undefined ? 0 : { reason: 'missing' }
    }
    return (await findMatching(run, step.in, step.refuse)).length > 0 ? { reason: 'found' } : 0
  }

  const remove = async (run: RunStatement, collection: string, filter: Filter): Promise<number> => {
    const { text, values, isExact } = statements.remove(collection, filter)
    if (isExact) return (await run(text, values)).rowCount
    const doomed = await findMatching(run, collection, filter)
    const ids = doomed.map(({ _id }) => isId(_id))
    const byId = statements.remove(collection, { kind: 'or', filters: ids })
    return (await run(byId.text, byId.values)).rowCount
  }

  const findMatching = async (
    run: RunStatement,
    collection: string,
    filter: Filter,
  ): Promise<readonly StoredDocument[]> => {
    const { text, values, isExact } = statements.list(collection, { filter, sort: [], skip: 0, limit: null })
    const found = await parseListed(await run(isExact ? `${text} LIMIT 1` : text, values))
    return isExact ? found : found.filter(compileFilter(filter))
  }

  const applyAt = async (run: RunStatement, step: WriteStep, place: number): Promise<number | Outcome> => {
    try {
      const outcome = await applyStep(run, step)
      return typeof outcome === 'number' ? outcome : { ok: false, step: place, ...outcome }
    } catch (cause) {
      if (!isTaken(cause)) throw cause
      const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      if (!document) throw cause
      return { taken: { step: place, document, isNew: 'insert' in step, cause } }
    }
  }

  return {
    isSingle: ([step, ...others]) => step !== undefined && others.length === 0 && isOneStatement(step),
    async applySingle(run, step) {
      try {
        const outcome = await applyAt(run, step, 0)
        return typeof outcome === 'number' ? { ok: true, removed: outcome } : outcome
      } catch (thrown) {
        throw isRepeatable(thrown) ? thrown : explainWrite(thrown)
      }
    },
    async applyAll(run, steps) {
      let isCommitting = false
      try {
        return await inTransaction(
          run,
          `BEGIN ISOLATION LEVEL READ COMMITTED; ${lockTables(dialect, steps)}`,
          async (): Promise<Outcome> => {
            let removed = 0
            const held = await holdRequired(run, dialect, steps)
            for (const [i, step] of steps.entries()) {
              if (i === held.missing) return { ok: false, step: i, reason: 'missing' }
              if (held.places.has(i)) continue
              const outcome = await applyAt(run, step, i)
              if (typeof outcome !== 'number') return outcome
              removed += outcome
            }
            isCommitting = true
            return { ok: true, removed }
          },
          (outcome) => 'ok' in outcome && outcome.ok,
        )
      } catch (thrown) {
        // Before the commit nothing has happened, whatever became of the connection.
        throw isRepeatable(thrown) ? thrown : isCommitting ? explainWrite(thrown) : explain(thrown)
      }
    },
  }
}

/** Whether a step touches one document by its `_id`, or all that match: so that it needs no look at others. */
function isOneStatement(step: WriteStep): boolean {
  if ('remove' in step) return isPinned(step.remove) && (step.expect ?? 1) === 1 && isSinglePin(step.remove)
  return 'insert' in step || 'replace' in step
}

const isIdEquality = (filter: Filter): boolean => filter.kind === 'eq' && filter.field.path === '_id'

/** Whether a filter can only match documents whose `_id` it names. */
const isPinned = (filter: Filter): boolean =>
  isIdEquality(filter) ||
  (filter.kind === 'or' && filter.filters.every(isPinned)) ||
  (filter.kind === 'and' && filter.filters.some(isPinned))

/** Whether it names one `_id` only. */
const isSinglePin = (filter: Filter): boolean =>
  isIdEquality(filter) || (filter.kind === 'and' && filter.filters.some(isSinglePin))

/**
 * Locks every table that a write changes, in one order for all, before anything is read. Where the write depends on
 * which documents match, others may not write there meanwhile: else both could look before either has written.
 */
function lockTables(dialect: SqlDialect, steps: readonly WriteStep[]): string {
  const modes = new Map<string, string>()
  for (const step of steps) {
    if ('require' in step) continue
    const looks = 'refuse' in step || ('remove' in step && !isPinned(step.remove))
    if (looks || !modes.has(step.in)) modes.set(step.in, looks ? 'SHARE ROW EXCLUSIVE' : 'ROW EXCLUSIVE')
  }
  return [...modes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([collection, mode]) => `LOCK TABLE ${dialect.table(collection)} IN ${mode} MODE`)
    .join('; ')
}
