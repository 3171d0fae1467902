import { type Filter, isId } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../../storage.js'
import { createStatements } from '../../sql/statements.js'
import { filterConflicting } from '../../sql/unique-conflict.js'
import type { Connection } from '../connection/connection.js'
import { readUniqueFields } from '../create-structures.js'
import { isTaken } from '../faults.js'
import { parseDocument } from '../read/matches.js'
import { byId } from '../read/read-list.js'
import { sqliteDialect } from '../sqlite-dialect.js'

type Refusal = Pick<Extract<WriteResult, { readonly ok: false }>, 'reason' | 'fields'>

/** A step that is applied by itself. */
type OneStep = Exclude<WriteStep, { readonly require: string }>

/** The only documents that can match what a step refuses, where that was found out before; else `undefined`. */
export type Suspects = (step: WriteStep) => Iterable<string> | undefined

const statements = createStatements(sqliteDialect, () => '?')

const versionOf = sqliteDialect.value({ path: '_version', type: 'integer', each: false })

/** Steps of a slice that a statement takes, and characters that it writes in one. */
const STATEMENT = 200
const CHARACTERS = 4

/** Applies steps in turn, inside a transaction that the caller takes back where the result is not ok. */
export function* applySteps(
  connection: Connection,
  steps: readonly WriteStep[],
  slice: Slice,
  suspects: Suspects,
): Sliced<WriteResult> {
  let removed = 0
  for (let i = 0; i < steps.length; ) {
    const step = steps[i]
    if (!step) break
    if ('require' in step) {
      const ids = takeRequired(steps, i)
      const missing = findMissing(connection, step.in, ids, slice)
      if (missing !== undefined) return { ok: false, step: i + missing, reason: 'missing' }
      i += ids.length
    } else {
      const known = suspects(step)
      const outcome =
        'refuse' in step && known
          ? yield* findRefused(connection, step, known, slice)
          : applyStep(connection, step, slice)
      if (typeof outcome !== 'number') return { ok: false, step: i, ...outcome }
      removed += outcome
      i += 1
    }
    if (slice.left <= 0) yield
  }
  return { ok: true, removed }
}

/** Required ids that are looked up at once. */
const MAX_REQUIRED = 1000

/** The ids that steps from a place on require of one collection. */
function takeRequired(steps: readonly WriteStep[], first: number): readonly string[] {
  const ids: string[] = []
  for (let i = first; i < steps.length && ids.length < MAX_REQUIRED; i++) {
    const step = steps[i]
    if (!step || !('require' in step) || step.in !== steps[first]?.in) break
    ids.push(step.require)
  }
  return ids
}

/** The place of the first id that is not there. */
function findMissing(
  connection: Connection,
  collection: string,
  ids: readonly string[],
  slice: Slice,
): number | undefined {
  slice.left -= STATEMENT + ids.length * (STATEMENT / 8)
  const text = `SELECT _id FROM ${sqliteDialect.table(collection)} WHERE _id IN (SELECT value FROM json_each(?))`
  const found = new Set(connection.all(text, [JSON.stringify(ids)]))
  const missing = ids.findIndex((id) => !found.has(id))
  return missing < 0 ? undefined : missing
}

/** Applies one step: how many documents it removed, or why it cannot be. */
function applyStep(connection: Connection, step: OneStep, slice: Slice): number | Refusal {
  slice.left -= STATEMENT
  const table = sqliteDialect.table(step.in)
  if ('insert' in step) {
    const { insert: document } = step
    return unlessTaken(connection, step.in, document, true, () => {
      const values = [document._id, writeDocument(document, slice)]
      connection.run(`INSERT INTO ${table} (_id, document) VALUES (?, ?)`, values)
      return 0
    })
  }
  if ('replace' in step) {
    const { replace: document, version } = step
    return unlessTaken(connection, step.in, document, false, () => {
      const text = `UPDATE ${table} SET document = ? WHERE _id = ? AND ${versionOf} = ?`
      const changes = connection.run(text, [writeDocument(document, slice), document._id, version])
      return changes === 1 ? 0 : { reason: 'changed' }
    })
  }
  if ('remove' in step) {
    const removed = remove(connection, step.in, step.remove)
    slice.left -= removed * STATEMENT
    return step.expect === undefined || step.expect === removed ? removed : { reason: 'changed' }
  }
  return exists(connection, step.in, step.refuse) ? { reason: 'found' } : 0
}

function writeDocument(document: StoredDocument, slice: Slice): string {
  const text = JSON.stringify(document)
  slice.left -= text.length / CHARACTERS
  return text
}

function remove(connection: Connection, collection: string, filter: Filter): number {
  const { text, values, isExact } = statements.remove(collection, filter)
  if (isExact) return connection.run(text, values)
  const doomed = idsOf(connection.all(text, values), filter)
  const byIds = `DELETE FROM ${sqliteDialect.table(collection)} WHERE _id IN (SELECT value FROM json_each(?))`
  return connection.run(byIds, [JSON.stringify(doomed)])
}

function exists(connection: Connection, collection: string, filter: Filter): boolean {
  const query = { filter, sort: [], skip: 0, limit: 1 }
  const { text, values, isExact } = statements.list(collection, query)
  if (isExact) return connection.first(text, values) !== undefined
  return idsOf(connection.all(text, values), filter).length > 0
}

/** The ids of documents, as texts, that match. */
function idsOf(texts: readonly unknown[], filter: Filter): readonly string[] {
  const matches = compileFilter(filter)
  return texts
    .map((text) => JSON.parse(String(text)) as StoredDocument)
    .filter(matches)
    .map(({ _id }) => _id)
}

/** Whether one of the documents that can match what is refused does. */
function* findRefused(
  connection: Connection,
  { in: collection, refuse }: Extract<WriteStep, { readonly refuse: Filter }>,
  suspects: Iterable<string>,
  slice: Slice,
): Sliced<number | Refusal> {
  const matches = compileFilter(refuse)
  for (const id of suspects) {
    slice.left -= STATEMENT / 4
    const text = connection.first(byId(collection), [id])
    if (typeof text === 'string' && matches(parseDocument(text, slice))) return { reason: 'found' }
    if (slice.left <= 0) yield
  }
  return 0
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
