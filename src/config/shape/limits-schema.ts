import { examples, object, withDefault } from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'
import type { Limits } from '../../types.js'
import { DEFAULT_LIMITS } from '../defaults.js'

const limit = (type: JsonSchema['type'], description: string, example: number): JsonSchema => ({
  type,
  minimum: 1,
  description,
  ...examples(example),
})

const EACH: { readonly [name in keyof Limits]: JsonSchema } = {
  defaultLimit: limit(
    ['integer', 'null'],
    'The limit of a list whose query has none; null: the value of maxLimit.',
    20,
  ),
  maxLimit: limit(
    ['integer', 'null'],
    'The largest limit of a list, and the default one; null: unlimited.',
    100,
  ),
  bodyBytes: limit('integer', 'Bytes of the body of a request.', 1_048_576),
  documentBytes: limit('integer', 'Bytes of a document as JSON, as its writer may read it.', 2_097_152),
  queryBytes: limit('integer', 'Bytes of a query string.', 8192),
  conditions: limit('integer', 'Conditions of a query: pairs of a field and an operator.', 64),
  values: limit('integer', 'Values of a query.', 100),
  patterns: limit('integer', 'Patterns ($regex) of a query.', 10),
  expanded: limit('integer', 'Documents that expand puts into one array of a document.', 100),
  bulk: limit('integer', 'Documents of a bulk create, and operations of a batch.', 100),
  added: {
    ...limit('integer', 'Operations that a hook adds to the write of one document.', 10),
    maximum: 1000,
  },
  requestSeconds: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 3600,
    description: 'Seconds from a request to the first byte of its answer.',
    ...examples(10),
  },
  subscribers: limit(
    'integer',
    'The most streams of changes of one process; one caller, or one address, may have a tenth.',
    1000,
  ),
  changesHours: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 8760,
    description: 'Hours for which a stream of changes can resume.',
    ...examples(24),
  },
  changesBytes: limit(
    'integer',
    'Bytes of documents in the log of changes of a database; beyond them the oldest changes are deleted.',
    1_073_741_824,
  ),
}

/** The JSON Schema of `limits`. */
export const LIMITS: JsonSchema = object(
  Object.fromEntries(
    Object.entries(EACH).map(([name, schema]) => [
      name,
      withDefault(DEFAULT_LIMITS[name as keyof Limits], schema),
    ]),
  ),
  { description: 'Limits of a request.', ...examples({ defaultLimit: 20, maxLimit: 100 }) },
)
