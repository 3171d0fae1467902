import { conditionsOf, type FieldRef, type Filter, ID, isOn } from '../../../core/filter/filter.js'
import { type IndexUse, MAX_RANGES, useIndex } from '../../../core/filter/index-order.js'
import { groupEqualities } from '../../../core/filter/join-equalities.js'
import type { IndexPlan } from '../../../core/storage.js'
import { compileCondition, type SqlCondition } from '../../sql/compile-condition.js'
import type { Bind, CompileOptions, SqlDialect } from '../../sql/dialect.js'
import { countNamed } from '../../sql/read/is-short.js'
import { isOfElements, nameOfElements } from '../../sql/structures.js'
import { columnOf, ENTRY_ID } from '../elements.js'

/** How reads use the table of an index of elements. The rows of the table are named `entry`. */
export interface Entries {
  /** The FROM item for the table. */
  readonly source: string
  /** The condition that joins an entry with its document. */
  readonly joined: string
  /**
   * Builds conditions on the columns of the table. Each entry contains one element, so that a condition on an element
   * is a condition on a column. Fields without a column are read from the document.
   */
  readonly dialect: SqlDialect
  /**
   * Whether the table decides a condition: it contains the compared value, which is equal in all entries of a
   * document.
   */
  readonly decides: (condition: Filter) => boolean
}

/** An index, and how a read uses it. */
interface UsableIndex {
  readonly use: IndexUse
  /** Absent for an index over the documents themselves. */
  readonly entries: Entries | undefined
}

const COMPARISONS: ReadonlySet<Filter['kind']> = new Set(['eq', 'lt', 'lte', 'gt', 'gte', 'present'])

const fieldOf = (condition: Filter): FieldRef | undefined =>
  'field' in condition && COMPARISONS.has(condition.kind) ? condition.field : undefined

/** Returns how reads use the table of an index, or `undefined` if the index is not over elements. */
export function entriesOf(dialect: SqlDialect, collection: string, index: IndexPlan): Entries | undefined {
  if (!isOfElements(index)) return undefined
  const { fields } = index
  const columnAt = (field: FieldRef): string | undefined => {
    const column = columnOf(fields, field)
    return column && `entry.${column}`
  }
  const value = (field: FieldRef): string => columnAt(field) ?? dialect.value(field)
  return {
    source: `${dialect.ownTable(nameOfElements(collection, fields))} AS entry`,
    joined: `_id = entry.${ENTRY_ID}`,
    dialect: {
      ...dialect,
      value,
      hasValue: (field) => `${value(field)} IS NOT NULL`,
      hasElement(field, condition) {
        const column = columnAt(field)
        return column === undefined ? dialect.hasElement(field, condition) : condition(column)
      },
      order: (field, descending) =>
        columnAt(field) === undefined
          ? dialect.order(field, descending)
          : `${value(field)} ${descending ? 'DESC NULLS LAST' : 'ASC NULLS FIRST'}`,
    },
    decides(condition) {
      const field = fieldOf(condition.kind === 'not' ? condition.filter : condition)
      return field !== undefined && !field.each && [...fields, ID].some((column) => isOn(field, column))
    },
  }
}

/** Returns the conditions that bound the range of an index. */
export const boundsOf = ({ fixing, lower, upper }: IndexUse): readonly Filter[] =>
  [...fixing, lower, upper].filter((bound) => bound !== undefined)

/** Returns the indexes that a read may use. Indexes of elements are left out if the filter names its documents. */
export const usableFor = (indexes: readonly IndexPlan[], filter: Filter): readonly IndexPlan[] =>
  indexes.some(isOfElements) && countNamed(indexes, filter) < Number.POSITIVE_INFINITY
    ? indexes.filter((index) => !isOfElements(index))
    : indexes

/**
 * The conditions of a filter: `bounds` are the conditions on the entries of a table of elements, `others` are all
 * other conditions. `entries` is absent if no such table serves the filter.
 */
interface SoughtEntries {
  readonly others: readonly SqlCondition[]
  readonly entries: Entries | undefined
  readonly bounds: readonly string[]
  readonly overlaps: boolean
}

/** Creates the `seek` of a dialect, which answers filters by tables of elements. */
export function createSeek(
  dialect: SqlDialect,
  indexesOf: (collection: string) => readonly IndexPlan[],
): NonNullable<SqlDialect['seek']> {
  const findEntries = (collection: string, conditions: readonly Filter[]): UsableIndex | undefined =>
    indexesOf(collection)
      .filter(isOfElements)
      .flatMap((index): readonly UsableIndex[] => {
        const use = useIndex([...index.fields, ID], conditions, [])
        return use ? [{ use, entries: entriesOf(dialect, collection, index) }] : []
      })
      .sort((a, b) => boundsOf(b.use).length - boundsOf(a.use).length)[0]

  const isSought = (collection: string, conditions: readonly Filter[]): boolean =>
    [{ fields: [] }, ...indexesOf(collection)].some(({ fields }) => {
      const use = useIndex([...fields, ID], conditions, [])
      return use !== undefined && boundsOf(use).length > 0
    })

  /**
   * Builds the conditions of a filter, as many as possible on entries. Values are bound in the order of the conditions.
   */
  const write = (
    collection: string,
    conditions: readonly Filter[],
    bind: Bind,
    options: CompileOptions,
  ): SoughtEntries => {
    const found = findEntries(collection, conditions)
    const { use, entries } = found ?? {}
    const answered = use ? boundsOf(use) : []
    const bounds: string[] = []
    const others: SqlCondition[] = []
    for (const condition of conditions) {
      if (entries && (answered.includes(condition) || entries.decides(condition)))
        bounds.push(compileCondition(condition, entries.dialect, bind).sql)
      else others.push(writeOther(collection, condition, bind, options))
    }
    return { others, entries, bounds, overlaps: use?.overlaps ?? false }
  }

  const joinAll = (parts: readonly string[]): string => parts.join(' AND ') || 'TRUE'

  const selectIds = (collection: string, { others, entries, bounds }: SoughtEntries): string => {
    const some = entries && `SELECT entry.${ENTRY_ID} FROM ${entries.source} WHERE ${joinAll(bounds)}`
    if (some && others.length === 0) return some
    const all = [...others.map(({ sql }) => sql), ...(some ? [`_id IN (${some})`] : [])]
    return `SELECT _id FROM ${dialect.table(collection)} WHERE ${joinAll(all)}`
  }

  /**
   * Builds a condition on documents. Its alternatives become separate subqueries if an index answers each of them, and
   * at least one of these indexes is of elements.
   */
  const writeOther = (
    collection: string,
    condition: Filter,
    bind: Bind,
    options: CompileOptions,
  ): SqlCondition => {
    const parts = condition.kind === 'or' ? groupEqualities(condition.filters).map(conditionsOf) : []
    const isUnion =
      options.mayJoin === true &&
      parts.length > 1 &&
      parts.length <= MAX_RANGES &&
      parts.some((part) => findEntries(collection, part)) &&
      parts.every((part) => isSought(collection, part))
    if (!isUnion) return compileCondition(condition, dialect, bind, options)
    const written = parts.map((part) => selectIds(collection, write(collection, part, bind, options)))
    return { sql: `_id IN (${written.join(' UNION ALL ')})`, isExact: true }
  }

  return (collection, filter, bind, options) => {
    const indexes = indexesOf(collection)
    if (!indexes.some(isOfElements) || usableFor(indexes, filter) !== indexes) return undefined
    // A condition that the dialect cannot express may be a rule that hides documents, so no table of elements is used
    // then.
    if (!compileCondition(filter, dialect, () => '', options).isExact) return undefined
    const sought = write(collection, conditionsOf(filter), bind, options)
    const { others, entries, bounds, overlaps } = sought
    const isWhole = entries && others.length === 0 && !overlaps
    return {
      where: joinAll([
        ...others.map(({ sql }) => sql),
        ...(entries ? [`_id IN (${selectIds(collection, { ...sought, others: [] })})`] : []),
      ]),
      ...(isWhole ? { each: `FROM ${entries.source} WHERE ${joinAll(bounds)}` } : {}),
    }
  }
}
