import type { Field } from '../../core/fields/field-type.js'
import type { JsonSchema } from '../../core/json/json-schema.js'
import { elementOf } from '../../core/query/condition.js'
import { SUMMARIES, type Summary } from '../../core/query/query-string.js'
import { orNull } from './schemas/value-schema.js'

/** The fields of a collection that a reader may read, by what an aggregate can do with them. */
export interface Groupable {
  /** The fields that can divide documents into groups. */
  readonly by: readonly Field[]
  readonly measures: { readonly [summary in Summary]: readonly Field[] }
}

const isNumber = ({ type }: Pick<Field, 'type'>): boolean => type === 'number' || type === 'integer'

/** Finds what an aggregate can do with readable fields. */
export function findGroupable(readable: readonly Field[]): Groupable {
  const scalars = readable.filter(({ fieldType }) => fieldType.isScalar)
  const numbers = scalars.filter(isNumber)
  return {
    by: readable.filter((field) => elementOf(field).fieldType.isScalar),
    measures: { sum: numbers, avg: numbers, min: scalars, max: scalars },
  }
}

const INTERVALS = ['hour', 'day', 'week', 'month', 'year']

/** The pattern of one edge in an array, by the type of its field. */
const EDGES: { readonly [type: string]: string } = {
  number: '-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,6})?',
  integer: '-?(?:0|[1-9][0-9]{0,14})',
  timestamp:
    '"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,3})?Z)?"',
}

/** The pattern of an edge that is text, without escapes. */
const TEXT_EDGE = '"[^"\\\\\\x00-\\x1f]*"'

/** Describes the value of `by` for a field: the words that its type allows, or the pattern of an array of edges. */
export function describeBy({ fieldType, items, type }: Field): JsonSchema {
  if (items) return { type: 'string', enum: ['value'] }
  const words = ['value', ...(type === 'timestamp' ? INTERVALS : [])]
  if (!fieldType.isOrdered) return { type: 'string', enum: words }
  const edge = EDGES[type] ?? TEXT_EDGE
  return { type: 'string', pattern: `^(?:${words.join('|')}|\\[${edge}(?:,${edge})*\\])$` }
}

/** Everything by which groups can be sorted, besides the fields of their keys. */
export const listOrders = ({ measures }: Groupable): readonly string[] => [
  '$count',
  ...SUMMARIES.flatMap((summary) => measures[summary].map(({ path }) => `$${summary}.${path}`)),
]

/** Describes the groups of an aggregate. */
export function describeGroups({ by, measures }: Groupable): JsonSchema {
  const object = (fields: readonly Field[], describe: (field: Field) => JsonSchema): JsonSchema => ({
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.path, describe(field)])),
    additionalProperties: false,
  })
  const describeValue = (field: Field): JsonSchema => orNull({ type: jsonTypeOf(elementOf(field)) })
  const summaries = SUMMARIES.map((summary) => [
    summary,
    object(measures[summary], summary === 'sum' ? () => ({ type: 'number' }) : describeValue),
  ])
  return {
    type: 'array',
    items: {
      type: 'object',
      required: ['key', 'count'],
      properties: {
        key: object(by, describeValue),
        count: { type: 'integer', minimum: 0 },
        ...Object.fromEntries(summaries),
      },
      additionalProperties: false,
    },
  }
}

const jsonTypeOf = ({ type }: Pick<Field, 'type'>): string =>
  type === 'boolean' ? type : isNumber({ type }) ? 'number' : 'string'
