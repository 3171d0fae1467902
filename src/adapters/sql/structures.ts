import { createHash } from 'node:crypto'
import type { FieldRef } from '../../core/filter/filter.js'
import type { CollectionPlan, IndexPlan } from '../../core/storage.js'
import { quoteName, type SqlDialect } from './dialect.js'
import { LOG } from './log/recorder.js'

/**
 * A table or an index that plans need. Its name is a digest of its definition, so the names in a database show which
 * structures are missing.
 */
export interface Structure {
  readonly name: string
  readonly collection: string
  /** The fields of an index. */
  readonly fields: readonly FieldRef[]
  /** The fields that a unique index covers. */
  readonly unique: readonly FieldRef[] | null
  /**
   * For a unique index that reads use too: the unique index and the read index that earlier versions created. If both
   * are present, they stay in use, and this one is not created.
   */
  readonly former?: readonly [unique: string, forReads: string]
  /** The statements that create it and fill it from existing documents. */
  readonly sql: readonly string[]
}

/** Whether it is an index of a collection. */
export const isIndex = ({ fields }: Structure): boolean => fields.length > 0

/** Whether an index has an entry for each element of an array. */
export const isOfElements = ({ fields }: Pick<IndexPlan, 'fields'>): boolean =>
  fields.some(({ each }) => each)

/** Increase it when the SQL of structures changes, so that old structures are not mistaken for new ones. */
const REVISION = 1

/**
 * All structures of the plans: tables first, then the indexes in the order of their plan; then the log, if one is
 * used.
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
  // A structure that is needed twice is created once.
  return [...new Map(all.map((structure) => [structure.name, structure])).values()]
}

/** The indexes of a collection. A unique index that serves reads replaces another one over the same fields. */
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

/** Whether the indexes of an earlier version replace a structure. */
export const isServedByFormer = ({ name, former }: Structure, present: ReadonlySet<unknown>): boolean =>
  former !== undefined && !present.has(name) && former.every((one) => present.has(one))

/** The wanted structures that are not present. */
export const lacking = (wanted: readonly Structure[], present: ReadonlySet<unknown>): readonly Structure[] =>
  wanted.filter((one) => !present.has(one.name) && !isServedByFormer(one, present))

/** Whether a structure is a table, or belongs to one that is missing too. */
export const isOfNewTable = (missing: readonly Structure[]): ((structure: Structure) => boolean) => {
  const tables = new Set(missing.filter((one) => !isIndex(one)).map(({ collection }) => collection))
  return ({ collection }) => tables.has(collection)
}

const createLog = (sql: string, place: number): Structure => {
  const name = nameOf(`log ${place}`, LOG, [])
  return { name, collection: LOG, fields: [], unique: null, sql: [sql] }
}

const nameOfLogged = (collection: string): string => nameOf('logged', collection, [])
const nameOfLapsed = (collection: string): string => nameOf('lapsed', collection, [])

/**
 * Records that a collection is logged. If it was written without a log before, the log gets a new name, so that
 * positions of the old one count as gaps.
 */
function beginLogging(collection: string, { structures, newLog }: SqlDialect): Structure {
  const isLapsed = `EXISTS (SELECT 1 FROM ${structures.table} WHERE name = '${nameOfLapsed(collection)}')`
  const sql = `${newLog} WHERE ${isLapsed}`
  return { name: nameOfLogged(collection), collection: LOG, fields: [], unique: null, sql: [sql] }
}

/**
 * The statements that end the logs of collections which the plans do not log. Later writes to these are not recorded;
 * the table of structures keeps this until they are logged again.
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
    : nameOf('index', collection, fields)
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

/** A table with an entry for each element of an array, kept up to date by triggers. */
function createElements(collection: string, all: readonly FieldRef[], dialect: SqlDialect): Structure {
  const fields = cutEntry(all, dialect)
  const name = nameOfElements(collection, fields)
  return { name, collection, fields, unique: null, sql: dialect.elements({ name, collection, fields }) }
}

/** The name of the table of an index of elements, which has all of its fields. */
export const nameOfElements = (collection: string, fields: readonly FieldRef[]): string =>
  nameOf('elements', collection, fields)

const isText = ({ type }: FieldRef): boolean => type === 'string'

/** In a unique index that would be too large, texts are digests: it only enforces uniqueness and serves no reads. */
function digestOf(fields: readonly FieldRef[], dialect: SqlDialect): ((value: string) => string) | undefined {
  return cutEntry(fields, dialect).length < fields.length ? dialect.entries?.digest : undefined
}

function uniqueKey(field: FieldRef, fields: readonly FieldRef[], dialect: SqlDialect): string {
  const value = dialect.value(field)
  return isText(field) ? (digestOf(fields, dialect)?.(value) ?? value) : value
}

/** The first fields of an index, as many as fit into an entry; the field of elements is always kept. */
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

/** The indexes of a plan that reads can use: the first fields of each. */
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
  return `_${kind}_${createHash('sha256').update(identity).digest('hex').slice(0, 24)}`
}
