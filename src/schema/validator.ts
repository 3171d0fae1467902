import type { Fault } from '../errors.js'
import type { JsonObject } from '../types.js'
import { MAX_INDEXED_BYTES, MAX_SECRET_BYTES, toObjectSchema } from './body-schema.js'
import type { Field } from './field.js'
import { findUnstorable } from './json-domain.js'
import { compileJsonSchema, type Violation } from './json-schema.js'
import { isFieldName, toPointerPart } from './names.js'

/** Contract §4. */
const MAX_FAULTS = 50
/** Names in a body are the client's: a pointer is cut here, lest an answer grow with them. */
const MAX_PATH = 256

/** All faults of a normalised body, one a path, at most 50; none if it may be stored. */
export type BodyValidator = (body: JsonObject) => readonly Fault[]

export interface ValidatorOptions {
  /** Names of top-level fields that an index covers. */
  readonly indexed: ReadonlySet<string>
  readonly additionalProperties: boolean
}

/** Compiles the validator of whole documents. Costs milliseconds: once for each collection, at start. */
export function compileValidator(fields: readonly Field[], options: ValidatorOptions): BodyValidator {
  const validate = compileJsonSchema(toObjectSchema(fields, options))
  const declared = new Set(fields.map(({ name }) => name))
  return (body) => {
    const byPath = new Map<string, Fault>()
    const add = (fault: Fault): void => {
      const path = fault.path.slice(0, MAX_PATH)
      if (byPath.size < MAX_FAULTS && !byPath.has(path)) byPath.set(path, { ...fault, path })
    }
    for (const name of Object.keys(body)) {
      if (!declared.has(name) && !isFieldName(name)) add(forbiddenName(name))
    }
    for (const fault of findUnstorable(body, '')) add(fault)
    for (const violation of validate(body)) add(describe(violation))
    return [...byPath.values()]
  }
}

const forbiddenName = (name: string): Fault => ({
  path: toPointerPart(name),
  code: 'forbidden_name',
  message: 'is no name that a property may have',
})

type Describe = (params: Violation['params']) => readonly [code: string, message: string]

/** What each keyword of a body's schema says when it is violated. `enum` is explained by whoever may see the field. */
const DESCRIPTIONS: { readonly [keyword: string]: Describe } = {
  required: () => ['required', 'is required'],
  additionalProperties: () => ['unknown_property', 'is not in the schema'],
  type: ({ type }) => ['wrong_type', `must be ${describeType(String(type))}`],
  enum: () => ['not_allowed', 'is not one of the allowed values'],
  format: ({ format }) => ['wrong_format', `must be a valid ${format}`],
  pattern: ({ pattern }) => ['wrong_pattern', `must match the pattern ${pattern}`],
  minLength: ({ limit }) => ['too_short', `must have at least ${limit} characters`],
  maxLength: ({ limit }) => ['too_long', `must have at most ${limit} characters`],
  minItems: ({ limit }) => ['too_few', `must have at least ${limit} elements`],
  maxItems: ({ limit }) => ['too_many', `must have at most ${limit} elements`],
  minimum: ({ limit }) => ['too_small', `must be at least ${limit}`],
  maximum: ({ limit }) => ['too_large', `must be at most ${limit}`],
  notBefore: () => ['too_small', 'is before the earliest time allowed'],
  notAfter: () => ['too_large', 'is after the latest time allowed'],
  maxBytes: () => [
    'too_long',
    `is too long in UTF-8: a secret has at most ${MAX_SECRET_BYTES} bytes, an indexed text ${MAX_INDEXED_BYTES}`,
  ],
}

function describe({ path, keyword, params }: Violation): Fault {
  const [code, message] = DESCRIPTIONS[keyword]?.(params) ?? ['invalid', 'is not valid']
  return { path, code, message }
}

const describeType = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)
