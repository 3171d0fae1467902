/**
 * A universe so small that all of it can be asked: every caller, every document, every request. The schemas have four
 * fields of at most four values, missing included; bodies name at most two of them.
 */

export type Json = { readonly [name: string]: unknown }

export type FieldName = 'a' | 'b' | 'c' | 'd'

export const FIELDS: readonly FieldName[] = ['a', 'b', 'c', 'd']

/** What each field may be. `d` is a list; the others are single values. */
export interface SmallDefinition {
  readonly type: 'string' | 'integer' | 'boolean' | 'array'
  readonly enum?: readonly string[]
  readonly items?: { readonly type: 'string' }
  readonly required?: boolean
  readonly default?: unknown
  readonly immutable?: boolean
  readonly nullable?: boolean
  /** For the judge alone: a hook gives what a create lacks. No configuration says so. */
  readonly isFilled?: boolean
}

export type SmallSchema = { readonly [name in FieldName]: SmallDefinition }

export interface SmallCollection {
  readonly schema: SmallSchema
  readonly permissions: Json
}

export type CollectionName = 'things' | 'notes'

export const COLLECTIONS: readonly CollectionName[] = ['things', 'notes']

export interface SmallConfig {
  readonly collections: { readonly [name in CollectionName]: SmallCollection }
}

export type SmallCaller = Json & { readonly id: string; readonly roles: readonly string[] }

export type SmallOperation = 'read' | 'create' | 'patch' | 'put' | 'delete'

export const OPERATIONS: readonly SmallOperation[] = ['read', 'create', 'patch', 'put', 'delete']

/** One request for one document; `document` is what is stored, and is not there for a create. */
export interface SmallRequest {
  readonly collection: CollectionName
  readonly operation: SmallOperation
  readonly body?: Json
}

export interface Triple {
  readonly caller: SmallCaller | null
  readonly document: Json
  readonly request: SmallRequest
}

/** The time of every request. */
export const NOW = '2026-06-01T00:00:00.000Z'
/** The time at which every document was stored. */
export const STORED_AT = '2026-01-01T00:00:00.000Z'
/** The `_id` of the document that is stored. */
export const STORED_ID = '0189abcd-0000-7000-8000-000000000001'

/** The values of a field, in the order of their type; `undefined` is a missing one. */
export const VALUES = {
  string: [undefined, 'a', 'b', 'c'],
  integer: [undefined, 0, 1, 2],
  boolean: [undefined, false, true],
  array: [undefined, [], ['a'], ['a', 'b']],
} as const satisfies { readonly [type in SmallDefinition['type']]: readonly unknown[] }

/** What a caller is beside the roles: a team of any form, or none. */
const STANDINGS: readonly Json[] = [
  {},
  { team: 'a', teams: ['a'], level: 1 },
  { team: 'b', teams: [] },
  { team: 1, teams: 'a', level: 'a' },
]

export const ROLES: readonly string[] = ['editor', 'clerk']

const ROLE_SETS: readonly (readonly string[])[] = [[], ['editor'], ['clerk'], ['editor', 'clerk']]

/** Everyone who may ask: nobody, and Ann in every role and standing. */
export const CALLERS: readonly (SmallCaller | null)[] = [
  null,
  ...ROLE_SETS.flatMap((roles) => STANDINGS.map((standing) => ({ id: 'ann', roles, ...standing }))),
]

/** Who may have created a document. */
const CREATORS: readonly (string | null)[] = ['ann', 'bob', null]

/** All documents of a schema, or of other values of its fields. */
export function documentsOf(
  schema: SmallSchema,
  valuesOf: (name: FieldName) => readonly unknown[] = (name) => VALUES[schema[name].type],
): readonly Json[] {
  let partial: Json[] = CREATORS.map((createdBy) => ({
    _id: STORED_ID,
    createdAt: STORED_AT,
    updatedAt: STORED_AT,
    createdBy,
  }))
  for (const name of FIELDS)
    partial = partial.flatMap((document) =>
      valuesOf(name).map((value) => (value === undefined ? document : { ...document, [name]: value })),
    )
  return partial
}

/** All bodies of at most two fields; a PATCH may remove them too. */
export function bodiesOf(schema: SmallSchema, operation: 'create' | 'patch' | 'put'): readonly Json[] {
  const valuesOf = (name: FieldName): readonly unknown[] => {
    const values = VALUES[schema[name].type].filter((value) => value !== undefined)
    return operation === 'patch' || schema[name].nullable ? [...values, null] : values
  }
  const single = FIELDS.flatMap((name) => valuesOf(name).map((value): Json => ({ [name]: value })))
  const double = FIELDS.flatMap((first, i) =>
    FIELDS.slice(i + 1).flatMap((second) =>
      valuesOf(first).flatMap((one) =>
        valuesOf(second).map((two): Json => ({ [first]: one, [second]: two })),
      ),
    ),
  )
  return [{}, ...single, ...double]
}

/** All requests to a collection. */
export const requestsOf = (collection: CollectionName, schema: SmallSchema): readonly SmallRequest[] =>
  OPERATIONS.flatMap((operation): readonly SmallRequest[] =>
    operation === 'read' || operation === 'delete'
      ? [{ collection, operation }]
      : bodiesOf(schema, operation).map((body) => ({ collection, operation, body })),
  )
