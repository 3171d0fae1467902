import type { FieldRef } from '../../core/filter/filter.js'
import { digest as hash } from '../../core/json/digest.js'
import type { CollectionPlan, IndexPlan } from '../../core/storage.js'
import { quoteName, type SqlDialect } from './dialect.js'
import { LOG } from './log/recorder.js'

/**
 * A table or an index that plans need. Its name contains a digest of its definition, so the names in a database show
 * which structures are missing.
 */
export interface Structure {
  readonly name: string
  readonly collection: string
  /** The fields of an index; empty for a table. */
  readonly fields: readonly FieldRef[]
  /** The fields of a unique index; `null` for any other structure. */
  readonly unique: readonly FieldRef[] | null
  /**
   * For a unique index that also serves reads: the two indexes that earlier versions created instead. If both exist,
   * they stay in use, and this index is not created.
   */
  readonly former?: readonly [unique: string, forReads: string]
  /** The statements that create the structure and fill it from existing documents. */
  readonly sql: readonly string[]
}

/** Whether a structure is an index of a collection. */
export const isIndex = ({ fields }: Structure): boolean => fields.length > 0

/** Returns the table to which a structure belongs. */
export const tableOf = ({ collection }: Structure, { table, ownTable }: SqlDialect): string =>
  collection === LOG ? ownTable(LOG) : table(collection)

/** Whether an index has one entry for each element of an array. */
export const isOfElements = ({ fields }: Pick<IndexPlan, 'fields'>): boolean =>
  fields.some(({ each }) => each)

/** Increase this number when the SQL of structures changes, so that old structures are not mistaken for new ones. */
const REVISION = 1

/**
 * Returns all structures that the plans need: each table, followed by its indexes in the order of the plan, and at
 * the end the log if any collection is logged.
 */
export function structuresOf(plans: readonly CollectionPlan[], dialect: SqlDialect): readonly Structure[] {
  const structures = plans.flatMap(({ name: collection, indexes }) => {
    const id = dialect.columns.id(quoteName(nameOf('key', collection, [])))
    const table: Structure = {
      name: nameOf('table', collection, []),
      collection,
      fields: [],
      unique: null,
      sql: [
        `CREATE TABLE ${dialect.table(collection)} (_id ${id}, document ${dialect.columns.document} NOT NULL)`,
      ],
    }
    return [table, ...indexesOf(collection, indexes, dialect)]
  })
  const logged = plans.filter(({ log }) => log)
  const log = [...dialect.log.map(createLog), ...logged.map(({ name }) => beginLogging(name, dialect))]
  const all = logged.length > 0 ? [...structures, ...log] : structures
  // If plans need a structure twice, it is created once.
  return [...new Map(all.map((structure) => [structure.name, structure])).values()]
}

/**
 * Returns the indexes of a collection. If a unique index also serves reads, the separate read index over the same
 * fields is left out.
 */
function indexesOf(
  collection: string,
  indexes: readonly IndexPlan[],
  dialect: SqlDialect,
): readonly Structure[] {
  const structures = indexes.flatMap(({ fields, unique }) => {
    if (isOfElements({ fields })) return [createElements(collection, fields, dialect)]
    const forReads = createIndex(collection, fields, false, dialect)
    return unique ? [createIndex(collection, fields, true, dialect), forReads] : [forReads]
  })
  const served = new Set(structures.flatMap(({ former }) => former ?? []))
  return structures.filter(({ name }) => !served.has(name))
}

/** Whether an index is not needed, because both indexes that earlier versions created instead are present. */
export const isServedByFormer = ({ name, former }: Structure, present: ReadonlySet<unknown>): boolean =>
  former !== undefined && !present.has(name) && former.every((one) => present.has(one))

/** Returns the wanted structures that must still be created. */
export const lacking = (wanted: readonly Structure[], present: ReadonlySet<unknown>): readonly Structure[] =>
  wanted.filter((one) => !present.has(one.name) && !isServedByFormer(one, present))

const createLog = (sql: string, place: number): Structure => {
  const name = nameOf(`log ${place}`, LOG, [])
  return { name, collection: LOG, fields: [], unique: null, sql: [sql] }
}

const nameOfLogged = (collection: string): string => nameOf('logged', collection, [])
const nameOfLapsed = (collection: string): string => nameOf('lapsed', collection, [])

/**
 * Creates the structure that records that a collection is logged. If the collection was written without a log since it
 * was last logged, the log also gets a new name, so that a read from a position of the old log reports a gap.
 */
function beginLogging(collection: string, { structures, newLog }: SqlDialect): Structure {
  const isLapsed = `EXISTS (SELECT 1 FROM ${structures.table} WHERE name = '${nameOfLapsed(collection)}')`
  const sql = `${newLog} WHERE ${isLapsed}`
  return { name: nameOfLogged(collection), collection: LOG, fields: [], unique: null, sql: [sql] }
}

/**
 * Returns the statements that record which logged collections the plans no longer log. If such a collection is logged
 * again, `beginLogging` finds this record.
 */
export function lapseLogging(
  plans: readonly CollectionPlan[],
  present: ReadonlySet<unknown>,
  { structures }: SqlDialect,
): readonly string[] {
  return plans.flatMap(({ name, log }) => {
    const [logged, lapsed] = [nameOfLogged(name), nameOfLapsed(name)]
    if (log || !present.has(logged)) return []
    const former = present.has(lapsed) ? [`DELETE FROM ${structures.table} WHERE name = '${lapsed}'`] : []
    return [...former, `UPDATE ${structures.table} SET name = '${lapsed}' WHERE name = '${logged}'`]
  })
}

function createIndex(
  collection: string,
  fields: readonly FieldRef[],
  isUnique: boolean,
  dialect: SqlDialect,
): Structure {
  const id = isUnique ? dialect.idOfLacking?.(fields) : '_id'
  const name = isUnique
    ? nameOf('unique', collection, fields, id ?? digestOf(fields, dialect)?.('?'))
    : nameOf('index', collection, fields, dialect.formOf?.(fields))
  const keys = isUnique
    ? [...fields.map((field) => uniqueKey(field, fields, dialect)), ...(id === undefined ? [] : [id])]
    : [...cutEntry(fields, dialect).map((field) => dialect.order(field, false)), '_id']
  const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX'
  const former = [nameOf('unique', collection, fields), nameOf('index', collection, fields)] as const
  return {
    name,
    collection,
    fields,
    unique: isUnique ? fields : null,
    ...(isUnique && id !== undefined ? { former } : {}),
    sql: [`CREATE ${kind} ${quoteName(name)} ON ${dialect.table(collection)} (${keys.join(', ')})`],
  }
}

/**
 * Creates the structure of an index of elements: a table with an entry for each element of an array, which triggers
 * keep up to date.
 */
function createElements(collection: string, all: readonly FieldRef[], dialect: SqlDialect): Structure {
  const fields = cutEntry(all, dialect)
  const name = nameOfElements(collection, fields)
  return { name, collection, fields, unique: null, sql: dialect.elements({ name, collection, fields }) }
}

/** Returns the name of the table of an index of elements. `fields` are all fields of the table. */
export const nameOfElements = (collection: string, fields: readonly FieldRef[]): string =>
  nameOf('elements', collection, fields)

const isText = ({ type }: FieldRef): boolean => type === 'string'

/**
 * Returns the function that digests the strings of a unique index whose entries would be too large; `undefined` for any
 * other index. An index of digests enforces uniqueness, but serves no reads.
 */
function digestOf(fields: readonly FieldRef[], dialect: SqlDialect): ((value: string) => string) | undefined {
  return cutEntry(fields, dialect).length < fields.length ? dialect.entries?.digest : undefined
}

function uniqueKey(field: FieldRef, fields: readonly FieldRef[], dialect: SqlDialect): string {
  const value = dialect.value(field)
  return isText(field) ? (digestOf(fields, dialect)?.(value) ?? value) : value
}

/** Returns the first fields of an index, as many as fit into an entry. The field with `each` is always one of them. */
function cutEntry(fields: readonly FieldRef[], { entries }: SqlDialect): readonly FieldRef[] {
  if (!entries) return fields
  const each = fields.find((field) => field.each)
  const cut = (count: number): readonly FieldRef[] => {
    const some = fields.slice(0, count)
    const all = each && !some.includes(each) ? [...some, each] : some
    return all.length <= entries.fields && all.filter(isText).length <= entries.texts ? all : cut(count - 1)
  }
  return cut(fields.length)
}

/** Returns the indexes of a plan in the form that reads can use: each with only the fields that fit into an entry. */
export const soughtIndexes = ({ indexes }: CollectionPlan, dialect: SqlDialect): readonly IndexPlan[] =>
  indexes.map(({ fields, unique }) => {
    const sought = cutEntry(fields, dialect)
    return { fields: sought, unique: unique && sought.length === fields.length }
  })

function nameOf(kind: string, collection: string, fields: readonly FieldRef[], digest?: string): string {
  const places = fields.map(({ path, type, each, inside }) => [
    path,
    type,
    each,
    ...(each && inside ? [inside] : []),
  ])
  const identity = JSON.stringify([REVISION, kind, collection, places, ...(digest ? [digest] : [])])
  return `_${kind}_${hash(identity).slice(0, 24)}`
}
