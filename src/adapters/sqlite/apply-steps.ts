import { type Filter, isId } from '../../filter/filter.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../storage.js'
import { createStatements } from '../sql/statements.js'
import { filterConflicting } from '../sql/unique-conflict.js'
import type { Connection } from './connection.js'
import { readUniqueFields } from './create-structures.js'
import { isTaken } from './faults.js'
import { sqliteDialect } from './sqlite-dialect.js'

type Refusal = Pick<Extract<WriteResult, { readonly ok: false }>, 'reason' | 'fields'>

export const statements = createStatements(sqliteDialect, () => '?')

const versionOf = sqliteDialect.value({ path: '_version', type: 'integer', each: false })

/** Applies steps in turn, inside a transaction that the caller takes back where the result is not ok. */
export function applySteps(connection: Connection, steps: readonly WriteStep[]): WriteResult {
  let removed = 0
  for (const [i, step] of steps.entries()) {
    const outcome = applyStep(connection, step)
    if (typeof outcome !== 'number') return { ok: false, step: i, ...outcome }
    removed += outcome
  }
  return { ok: true, removed }
}

/** Applies one step: how many documents it removed, or why it cannot be. */
function applyStep(connection: Connection, step: WriteStep): number | Refusal {
  const table = sqliteDialect.table(step.in)
  if ('insert' in step) {
    const { insert: document } = step
    return unlessTaken(connection, step.in, document, true, () => {
      const values = [document._id, JSON.stringify(document)]
      connection.run(`INSERT INTO ${table} (_id, document) VALUES (?, ?)`, values)
      return 0
    })
  }
  if ('replace' in step) {
    const { replace: document, version } = step
    return unlessTaken(connection, step.in, document, false, () => {
      const text = `UPDATE ${table} SET document = ? WHERE _id = ? AND ${versionOf} = ?`
      const changes = connection.run(text, [JSON.stringify(document), document._id, version])
      return changes === 1 ? 0 : { reason: 'changed' }
    })
  }
  if ('remove' in step) {
    const { text, values } = statements.remove(step.in, step.remove)
    const removed = connection.run(text, values)
    return step.expect === undefined || step.expect === removed ? removed : { reason: 'changed' }
  }
  if ('require' in step) return exists(connection, step.in, isId(step.require)) ? 0 : { reason: 'missing' }
  return exists(connection, step.in, step.refuse) ? { reason: 'found' } : 0
}

function exists(connection: Connection, collection: string, filter: Filter): boolean {
  const { text, values } = statements.list(collection, { filter, sort: [], skip: 0, limit: 1 })
  return connection.first(text, values) !== undefined
}

/** The first index, in the order of their creation, that refuses is named: not the one that SQLite happens to ask first. */
function unlessTaken(
  connection: Connection,
  collection: string,
  document: StoredDocument,
  isNew: boolean,
  store: () => number | Refusal,
): number | Refusal {
  try {
    return store()
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown
    if (isNew && exists(connection, collection, isId(document._id)))
      return { reason: 'unique', fields: ['_id'] }
    const fields = readUniqueFields(connection, collection).find((candidate) => {
      const conflicting = filterConflicting(candidate, document)
      return conflicting !== null && exists(connection, collection, conflicting)
    })
    return { reason: 'unique', fields: fields?.map(({ path }) => path) ?? ['_id'] }
  }
}
