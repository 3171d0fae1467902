import { canHold, isComparable } from '../../core/filter/compare.js'
import type {
  ComparableType,
  ComparisonKind,
  FieldRef,
  Filter,
  Leaf,
  ValueType,
} from '../../core/filter/filter.js'
import { type Equalities, joinEqualities } from '../../core/filter/join-equalities.js'
import type { Bind, PresentKind, SqlDialect } from './dialect.js'

/**
 * A condition in SQL. If it is not exact, it may also select documents that do not match the filter, but it never
 * misses a match.
 */
export interface SqlCondition {
  readonly sql: string
  readonly isExact: boolean
}

/** The settings of a compilation. */
interface Compilation {
  readonly dialect: SqlDialect
  readonly bind: Bind
  /** Whether to omit all patterns from the SQL, because the caller evaluates them. */
  readonly skipPatterns: boolean
}

const TRUE: SqlCondition = { sql: 'TRUE', isExact: true }
const FALSE: SqlCondition = { sql: 'FALSE', isExact: true }

/**
 * Compiles a filter to a condition. A leaf on a missing value is NULL in SQL, which counts as false. Because the
 * negation of NULL is NULL too, `not` is pushed down to the leaves, which handle NULL explicitly.
 */
export function compileCondition(
  filter: Filter,
  dialect: SqlDialect,
  bind: Bind,
  options: { readonly skipPatterns?: boolean } = {},
): SqlCondition {
  return compile(filter, false, { dialect, bind, skipPatterns: options.skipPatterns ?? false })
}

function compile(filter: Filter, isNegated: boolean, compilation: Compilation): SqlCondition {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const isAnd = (filter.kind === 'and') !== isNegated
      const parts = filter.kind === 'or' ? joinEqualities(filter.filters) : filter.filters
      const compiled: SqlCondition[] = []
      for (const part of parts) {
        const condition =
          part.kind === 'one of'
            ? compileEqualities(part, isNegated, compilation)
            : compile(part, isNegated, compilation)
        compiled.push(condition)
        // A condition that the caller must evaluate may be a rule that hides documents. Later conditions are left out
        // as well, so that SQL does not evaluate them on hidden documents.
        if (isAnd && !condition.isExact) break
      }
      return join(compiled, isAnd, compilation.dialect)
    }
    case 'not':
      return compile(filter.filter, !isNegated, compilation)
    default:
      return compileLeaf(filter, isNegated, compilation)
  }
}

/** Joins conditions as a balanced tree, because engines limit how deeply an expression may nest. */
function join(
  conditions: readonly SqlCondition[],
  isAnd: boolean,
  { longestChain = MAX_CHAIN }: SqlDialect,
): SqlCondition {
  const neutral = isAnd ? TRUE : FALSE
  // Only neutral conditions are dropped. A FALSE in an AND does not replace the other conditions, because they may have
  // bound values.
  const parts = conditions.filter((condition) => condition.sql !== neutral.sql || !condition.isExact)
  const [first, second] = parts
  if (!first) return neutral
  if (!second) return first
  const isExact = parts.every((part) => part.isExact)
  return { sql: joinHalves(parts, isAnd ? ' AND ' : ' OR ', longestChain), isExact }
}

/** The default of `SqlDialect.longestChain`. */
const MAX_CHAIN = 50

function joinHalves(parts: readonly SqlCondition[], word: string, longest: number): string {
  if (parts.length <= longest) return `(${parts.map(({ sql }) => sql).join(word)})`
  const middle = Math.ceil(parts.length / 2)
  const [left, right] = [parts.slice(0, middle), parts.slice(middle)]
  return `(${joinHalves(left, word, longest)}${word}${joinHalves(right, word, longest)})`
}

function compileEqualities(
  { field, values }: Equalities,
  isNegated: boolean,
  { dialect, bind }: Compilation,
): SqlCondition {
  const fitting = values.filter((value) => canHold(field.type, value))
  if (fitting.length === 0) return isNegated ? TRUE : FALSE
  const isOneOf = (value: string): string => dialect.isOneOf(value, fitting, bind)
  const sql = field.each ? dialect.hasElement(field, isOneOf) : isOneOf(dialect.value(field))
  return { sql: isNegated ? negate(field, sql) : sql, isExact: true }
}

const OPERATORS: { readonly [kind in ComparisonKind]: string } = {
  eq: '=',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
}

function compileLeaf(leaf: Leaf, isNegated: boolean, compilation: Compilation): SqlCondition {
  const { dialect, bind, skipPatterns } = compilation
  const { field } = leaf
  if (leaf.kind === 'present') return compilePresent(field, isNegated, dialect)
  if (leaf.kind === 'match') {
    const sql = skipPatterns
      ? undefined
      : compileComparison(field, isNegated, dialect, (text) => dialect.match(text, leaf.pattern, bind, field))
    return sql === undefined ? { sql: 'TRUE', isExact: false } : { sql, isExact: true }
  }
  if (!canHold(field.type, leaf.value)) return isNegated ? TRUE : FALSE
  const sql = compileComparison(
    field,
    isNegated,
    dialect,
    (value) => `${value} ${OPERATORS[leaf.kind]} ${bind(leaf.value)}`,
  )
  return sql === undefined ? FALSE : { sql, isExact: true }
}

const PRESENT_KINDS: { readonly [type in Exclude<ValueType, ComparableType>]: PresentKind } = {
  object: 'object',
  array: 'array',
  json: 'any',
}

function compilePresent(field: FieldRef, isNegated: boolean, dialect: SqlDialect): SqlCondition {
  const { path, type, each } = field
  if (!each && isComparable(type)) {
    return {
      sql: isNegated ? `${dialect.value(field)} IS NULL` : dialect.hasValue(field, type),
      isExact: true,
    }
  }
  const sql = dialect.isPresent(path, isComparable(type) || each ? 'array' : PRESENT_KINDS[type])
  return { sql: isNegated ? `NOT ${sql}` : sql, isExact: true }
}

/**
 * Compiles a condition on the value of a field or, if the field has `each`, on any element of its array. Returns
 * `undefined` if the dialect cannot express the condition.
 */
function compileComparison(
  field: FieldRef,
  isNegated: boolean,
  dialect: SqlDialect,
  compare: (value: string) => string | undefined,
): string | undefined {
  let isSayable = true
  const condition = (value: string): string => {
    const sql = compare(value)
    isSayable &&= sql !== undefined
    return sql ?? 'TRUE'
  }
  const sql = field.each ? dialect.hasElement(field, condition) : condition(dialect.value(field))
  if (!isSayable) return undefined
  return isNegated ? negate(field, sql) : sql
}

/**
 * Negates a condition on a field. If the value is missing, the condition is NULL, and its negation must be true. A
 * condition on elements is never NULL.
 */
const negate = ({ each }: FieldRef, sql: string): string => (each ? `NOT ${sql}` : `(${sql}) IS NOT TRUE`)
