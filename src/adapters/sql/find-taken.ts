import { compileField } from '../../core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, isId, not } from '../../core/filter/filter.js'
import { inTurn, whenReady } from '../../core/promises.js'
import type { MaybePromise, StoredDocument } from '../../core/storage.js'
import { exists, type TakenValue } from './apply-steps.js'
import { nameWhileBuilt } from './create-structures.js'
import type { SqlDialect } from './dialect.js'
import type { Ask, DatabaseWork, SqlEngine } from './engine.js'
import { writeStatement } from './statements.js'

/** Reads the fields of unique indexes, including those of other services, in the order of creation. */
function readUnique(
  dialect: SqlDialect,
  ask: Ask,
  by: 'collection' | 'name',
  value: string,
): MaybePromise<readonly (readonly FieldRef[])[]> {
  const { table, order, owner } = dialect.structures
  const column = by === 'name' ? by : owner()
  const sought = by === 'name' ? [value, nameWhileBuilt(value)] : [value]
  const statement = writeStatement(
    dialect,
    (bind) =>
      `SELECT bound FROM ${table} WHERE ${column} IN (${sought.map(bind).join(', ')}) AND bound <> 'null' ORDER BY ${order}`,
  )
  return whenReady(ask(statement), ({ rows }) =>
    rows.map((bound) => JSON.parse(String(bound)) as readonly FieldRef[]),
  )
}

/**
 * Returns the fields of the violated unique index. If several are violated, these are the fields of the index that was
 * created first, not of the index that the engine checked first.
 */
export const findTaken =
  (engine: SqlEngine, taken: TakenValue): DatabaseWork<readonly string[]> =>
  (ask) =>
    whenReady(readUnique(engine.dialect, ask, 'collection', taken.collection), (unique) =>
      findConflict(engine, ask, taken, unique),
    )

function findConflict(
  engine: SqlEngine,
  ask: Ask,
  { collection, document, isNew, index }: TakenValue,
  unique: readonly (readonly FieldRef[])[],
): MaybePromise<readonly string[]> {
  const candidates = [
    ...(isNew ? [{ fields: [ID], conflicting: isId(document._id) }] : []),
    ...unique.map((fields) => ({ fields, conflicting: filterConflicting(fields, document) })),
  ]
  const finding = inTurn(candidates, ({ fields, conflicting }) => {
    const existing = conflicting && exists(engine, collection, conflicting)(ask)
    return whenReady(existing, (isTaken) => (isTaken ? [fields] : undefined))
  })
  // Perhaps no stored document has the value: another step of this write has it, or it has become free since the
  // rejection.
  const naming = whenReady(finding, (found) => found ?? readUnique(engine.dialect, ask, 'name', index))
  return whenReady(naming, ([fields = [ID]]) => fields.map(({ path }) => path))
}

/**
 * Returns a filter for other documents with the same values in the fields of a unique index. Returns `null` if the
 * given document lacks one of the fields, because the index then does not constrain it.
 */
export function filterConflicting(fields: readonly FieldRef[], document: StoredDocument): Filter | null {
  const equalities: Filter[] = []
  for (const field of fields) {
    const value = compileField(field)(document)
    if (value === undefined) return null
    equalities.push({ kind: 'eq', field, value })
  }
  return and([...equalities, not(isId(document._id))])
}
