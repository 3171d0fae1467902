/** The part of a JSON Schema that the admin UI reads. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly 'x-collection'?: string
}

/** How a value is displayed and edited. */
export type FieldKind =
  | 'text'
  | 'long'
  | 'secret'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  | 'time'
  | 'date'
  | 'reference'
  | 'array'
  | 'object'
  | 'json'

/** A property of a document or a request body. */
export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly description: string
  readonly isRequired: boolean
  /** Whether `null` removes the field. */
  readonly isNullable: boolean
  /** The possible values of a choice. */
  readonly choices: readonly unknown[]
  /** The collection to which a reference refers; for an array, the collection to which its elements refer. */
  readonly target: string | undefined
  /** The field that describes the elements of an array. */
  readonly items: Field | undefined
  /** The properties of an object. */
  readonly fields: readonly Field[]
  readonly schema: JsonSchema
}

/** Resolves a `$ref` inside the OpenAPI document. */
export type Resolve = (schema: JsonSchema) => JsonSchema

/** A string is edited in one line only if its maximum length is at most this. */
const LONG = 200

/** Reads the schema of a value. A schema in an unknown form is read as one that allows any JSON. */
export function readField(
  name: string,
  asked: JsonSchema | undefined,
  resolve: Resolve,
  { isRequired = false, depth = 0 }: { readonly isRequired?: boolean; readonly depth?: number } = {},
): Field {
  const { schema, isNullable } = unwrap(asked ?? {}, resolve)
  const description = asked?.description ?? schema.description ?? ''
  const kind = depth > 8 ? 'json' : kindOf(schema)
  const items =
    kind === 'array'
      ? readField('', schema.items, resolve, { isRequired: true, depth: depth + 1 })
      : undefined
  const required = schema.required ?? []
  return {
    name,
    kind,
    description,
    isRequired,
    isNullable,
    schema,
    items,
    choices: schema.enum ?? [],
    target: schema['x-collection'] ?? items?.target,
    fields:
      kind === 'object'
        ? Object.entries(schema.properties ?? {}).map(([inner, its]) =>
            readField(inner, its, resolve, { isRequired: required.includes(inner), depth: depth + 1 }),
          )
        : [],
  }
}

/** Returns the fields of an object's schema, in the order of the schema. */
export const readFields = (schema: JsonSchema | undefined, resolve: Resolve): readonly Field[] =>
  schema ? readField('', { ...resolve(schema), type: 'object' }, resolve).fields : []

/**
 * Resolves the references in a schema and removes `null` from its alternatives. A single remaining alternative replaces
 * the schema.
 */
function unwrap(
  asked: JsonSchema,
  resolve: Resolve,
): { readonly schema: JsonSchema; readonly isNullable: boolean } {
  const schema = resolve(asked)
  const { anyOf = [], type } = schema
  // The alternatives are a reference, and the document with which `expand` replaces it.
  const reference = anyOf.find((one) => one['x-collection'] !== undefined)
  if (reference) return { ...unwrap(reference, resolve), isNullable: true }
  const others = anyOf.filter((one) => one.type !== 'null')
  // The alternatives of a timestamp are a time and a date, which means midnight. The date is ignored.
  const [only, second] = others.filter(({ format }, i) => i === 0 || format !== 'date')
  if (only && !second) return { ...unwrap(only, resolve), isNullable: others.length < anyOf.length }
  if (Array.isArray(type) && type.includes('null'))
    return { schema: { ...schema, type: type.find((one) => one !== 'null') }, isNullable: true }
  return { schema, isNullable: false }
}

function kindOf(schema: JsonSchema): FieldKind {
  if (schema['x-collection'] !== undefined) return 'reference'
  if (schema.enum) return 'choice'
  switch (schema.type) {
    case 'string':
      return kindOfText(schema)
    case 'number':
    case 'integer':
    case 'boolean':
      return schema.type
    case 'array':
      return schema.items ? 'array' : 'json'
    case 'object':
      return schema.properties ? 'object' : 'json'
    default:
      return 'json'
  }
}

function kindOfText({ format, maxLength }: JsonSchema): FieldKind {
  if (format === 'password') return 'secret'
  if (format === 'date-time') return 'time'
  if (format === 'date') return 'date'
  if (format !== undefined) return 'text'
  return maxLength !== undefined && maxLength <= LONG ? 'text' : 'long'
}
