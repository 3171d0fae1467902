import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { and, type Filter, type Leaf, mapLeaves, or } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import { suggest } from '../schema/names.js'
import type { SortKey } from '../storage.js'
import type { Limits, OperatorName } from '../types.js'
import { buildCondition, ConditionFault, elementOf } from './condition.js'
import { type Cursor, readCursor } from './cursor.js'
import { readOperand } from './operand.js'
import { joinRepeated, OPTIONS, OR, takes } from './operators.js'
import { createProjection, type Projection } from './projection.js'
import { type RawFilter, type RawQuery, refuse, unknownField } from './query-string.js'

/** The fields of a collection as one caller sees them: what a query may name, and what of it hides where. */
export interface Readable {
  /** The field at a path, if some grant of the caller shows it. */
  find(path: string): Field | undefined
  /** Whether every grant of the caller shows it. */
  isShownAlways(field: Field): boolean
  /** The condition, false where the caller may not read its field. */
  guard(leaf: Leaf): Filter
  /** Reads the patterns of a query. */
  readonly parsePattern: ParsePattern
  /** For suggestions. */
  readonly paths: readonly string[]
}

/** A query understood: what CONTRACT.md §3 makes of it for one caller. */
export interface Query {
  readonly filter: Filter
  readonly sort: readonly SortKey[]
  readonly skip: number
  readonly limit: number | null
  /** Where the page begins, in place of `skip`. */
  readonly after: Cursor | null
  /** Whether the size of the whole filter is asked for. */
  readonly isTotalAsked: boolean
  readonly projection: Projection | null
  /** References, or arrays of them, in whose place the documents are put that they name. */
  readonly expand: readonly Field[]
}

export type QueryLimits = Pick<Limits, 'conditions' | 'values' | 'patterns' | 'defaultLimit' | 'maxLimit'>

/** Gives a query its meaning for one caller. Throws `invalid_query` with every fault. */
export function compileQuery(raw: RawQuery, readable: Readable, idField: Field, limits: QueryLimits): Query {
  // Before anything is compiled, which costs more than counting.
  refuse(checkLimits(raw, limits))
  const faults: Fault[] = []
  const attempt = <T>(parameter: string, fallback: T, compile: () => T): T => {
    try {
      return compile()
    } catch (thrown) {
      if (!(thrown instanceof ConditionFault)) throw thrown
      faults.push({ path: parameter, code: thrown.code, message: thrown.message })
      return fallback
    }
  }
  const find = (parameter: string, path: string): Field | undefined => {
    const field = readable.find(path)
    if (!field) faults.push(unknownField(parameter, path, suggest(path, readable.paths)))
    return field
  }

  const filter = compileFilterOf(raw, 'q', { find, attempt, parse: readable.parsePattern })
  const keys = [...raw.sort].flatMap(([path, direction]): SortKey[] => {
    const parameter = `sort[${path}]`
    const field = find(parameter, path)
    return field ? attempt(parameter, [], () => [compileSort(field, direction, readable)]) : []
  })
  const skip = attempt('skip', 0, () => readWhole(raw.skip) ?? 0)
  const limit = attempt('limit', null, () => readLimit(raw.limit, limits))
  const sort = completeSort(keys, idField)
  const after = attempt('after', null, () => readAfter(raw, sort))
  const isTotalAsked = attempt('total', false, () => readTotal(raw.total))
  const projection =
    raw.project === undefined
      ? null
      : compileProjection(
          attempt('project', [], () => readPaths(raw.project)),
          (path) => find('project', path),
        )
  const expand =
    raw.expand === undefined
      ? []
      : attempt('expand', [], () => readPaths(raw.expand)).flatMap((path): readonly Field[] => {
          const field = find('expand', path)
          return field ? attempt('expand', [], () => [checkReference(field)]) : []
        })
  refuse(faults)

  return {
    filter: mapLeaves(filter, (leaf) => readable.guard(leaf)),
    sort,
    skip,
    limit,
    after,
    isTotalAsked,
    projection,
    expand: [...new Set(expand)],
  }
}

function checkReference(field: Field): Field {
  if (elementOf(field).type === 'reference') return field
  throw new ConditionFault('wrong_type', `${JSON.stringify(field.path)} holds no references`)
}

type Attempt = <T>(parameter: string, fallback: T, compile: () => T) => T

/** What the conditions of a query are read with. */
interface Reading {
  readonly find: (parameter: string, path: string) => Field | undefined
  readonly attempt: Attempt
  readonly parse: ParsePattern
}

/** All conditions, and one of the groups where there are any. `at`: what stands before a field in a parameter's name. */
function compileFilterOf({ conditions, groups }: RawFilter, at: string, reading: Reading): Filter {
  const filters = [...conditions].flatMap(([path, operators]) => {
    const parameter = `${at}[${path}]`
    const field = reading.find(parameter, path)
    return field ? compileField(field, operators, parameter, reading) : []
  })
  if (groups.size === 0) return and(filters)
  const alternatives = [...groups].map(([number, group]) =>
    compileFilterOf(group, `${at}[${OR}][${number}]`, reading),
  )
  return and([...filters, or(alternatives)])
}

function compileField(
  field: Field,
  operators: ReadonlyMap<string, readonly string[]>,
  parameter: string,
  { attempt, parse }: Reading,
): readonly Filter[] {
  const options = operators.get(OPTIONS)
  const hasPattern = [...operators.keys()].some((operator) => takes(operator, 'pattern'))
  if (options && !(hasPattern && options.every((option) => option === 'i'))) {
    return attempt(`${parameter}[${OPTIONS}]`, [], () => {
      throw new ConditionFault('wrong_option', 'must be i, beside a $regex on the same field')
    })
  }
  return [...operators].flatMap(([name, texts]): Filter[] => {
    if (name === OPTIONS) return []
    // The gate has let operators through only.
    const operator = name as OperatorName
    return attempt(operator === '$eq' ? parameter : `${parameter}[${operator}]`, [], () => {
      const filters = texts.map((text) =>
        buildCondition(field, operator, readOperand(field, operator, text), {
          ignoreCase: options !== undefined,
          parse,
        }),
      )
      return [joinRepeated(operator, filters)]
    })
  })
}

const DIRECTIONS: ReadonlyMap<string, boolean> = new Map([
  ['1', false],
  ['asc', false],
  ['-1', true],
  ['desc', true],
])

function compileSort(field: Field, direction: string, readable: Readable): SortKey {
  const descending = DIRECTIONS.get(direction)
  if (descending === undefined) throw new ConditionFault('wrong_direction', 'must be 1, asc, -1 or desc')
  if (!field.ref || !field.fieldType.isScalar) {
    throw new ConditionFault('wrong_operator', `a field of type ${field.type} has no order`)
  }
  if (!readable.isShownAlways(field)) {
    throw new ConditionFault('unknown_field', 'is hidden on some documents, so there is no order by it')
  }
  return { field: field.ref, descending }
}

/** Ends the order with `_id`, in the direction of the last key: then it is total (CONTRACT.md §3.6). */
function completeSort(keys: readonly SortKey[], idField: Field): readonly SortKey[] {
  const place = keys.findIndex(({ field }) => field.path === idField.path)
  // Behind an `_id` there are no ties to order.
  if (place >= 0) return keys.slice(0, place + 1)
  return idField.ref ? [...keys, { field: idField.ref, descending: keys.at(-1)?.descending ?? false }] : keys
}

function readWhole(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value))
    throw new ConditionFault('out_of_range', 'must be a whole number from 0 to 2^53−1')
  return value
}

function readLimit(text: string | undefined, { defaultLimit, maxLimit }: QueryLimits): number | null {
  const limit = readWhole(text) ?? defaultLimit ?? maxLimit
  if (limit !== null && maxLimit !== null && limit > maxLimit) {
    throw new ConditionFault('out_of_range', `must be at most ${maxLimit}`)
  }
  return limit
}

function readAfter({ after, skip }: RawQuery, sort: readonly SortKey[]): Cursor | null {
  if (after === undefined) return null
  if (skip !== undefined) throw new ConditionFault('contradictory', 'stands in place of skip, not beside it')
  return readCursor(sort, after)
}

function readTotal(text: string | undefined): boolean {
  if (text !== undefined && text !== 'true') throw new ConditionFault('malformed', 'must be true')
  return text === 'true'
}

function readPaths(text: string | undefined): readonly string[] {
  try {
    const paths: unknown = JSON.parse(text ?? '')
    if (Array.isArray(paths) && paths.every((path) => typeof path === 'string')) return paths
  } catch {}
  throw new ConditionFault('malformed', 'must be a JSON array of field names, like ["title"]')
}

function compileProjection(paths: readonly string[], find: (path: string) => Field | undefined): Projection {
  return createProjection(paths.flatMap((path) => find(path)?.path ?? []))
}

/** What a query may have, how much of it, and how it is counted. */
const COUNTED: readonly (readonly [
  name: 'conditions' | 'values' | 'patterns',
  count: (operator: string, texts: readonly string[]) => number,
])[] = [
  ['conditions', () => 1],
  ['values', countValues],
  ['patterns', (operator, texts) => (takes(operator, 'pattern') ? texts.length : 0)],
]

function checkLimits(raw: RawFilter, limits: QueryLimits): readonly Fault[] {
  const compared = collectConditions(raw)
  return COUNTED.flatMap(([name, count]): readonly Fault[] => {
    const total = compared.reduce((sum, [operator, texts]) => sum + count(operator, texts), 0)
    return total > limits[name]
      ? [{ path: 'q', code: 'too_many', message: `has more than ${limits[name]} ${name}` }]
      : []
  })
}

/** Every operator with its values, over all groups. */
function collectConditions({
  conditions,
  groups,
}: RawFilter): readonly (readonly [string, readonly string[]])[] {
  const own = [...conditions.values()].flatMap((operators) => [...operators])
  return [
    ...own.filter(([operator]) => operator !== OPTIONS),
    ...[...groups.values()].flatMap(collectConditions),
  ]
}

function countValues(operator: string, texts: readonly string[]): number {
  if (!takes(operator, 'list')) return texts.length
  return texts.reduce((total, text) => {
    try {
      const list: unknown = JSON.parse(text)
      return total + (Array.isArray(list) ? list.length : 1)
    } catch {
      return total + 1
    }
  }, 0)
}
