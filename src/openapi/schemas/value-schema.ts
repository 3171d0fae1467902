import type { Field } from '../../fields/field-type.js'
import { unlowerRanges } from '../../filter/pattern/syntax/letter-case.js'
import { readSyntax } from '../../filter/pattern/syntax/read-syntax.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { holdsImmutable } from '../../schema/changes.js'
import { printEcma } from './print-ecma.js'
import { describeNumber, describeSecret, describeText, describeTime, orNull } from './scalars.js'

/**
 * What values are described for. `answer`: what a document shows. `create`: a new document, whose missing fields
 * get their defaults. `replace`: the same, without what cannot be changed. `element`: what is given whole and gets
 * no defaults. `patch`: a merge patch.
 */
export type SchemaUse = 'answer' | 'create' | 'replace' | 'element' | 'patch'

/** How values are described. */
export interface ValueOptions {
  readonly use: SchemaUse
  /** The schema of any JSON in a body. */
  readonly describeAny: () => JsonSchema
  /** The schema of a reference. */
  readonly describeReference: (field: Field) => JsonSchema
  /** The paths whose values an index limits. */
  readonly indexed: ReadonlySet<string>
}

/** The JSON Schema of a field's values, with what the configuration says of the field. */
export function describeValue(field: Field, options: ValueOptions): JsonSchema {
  const { definition, type } = field
  const { use } = options
  const schema = describeType(field, options)
  const isRemovable = use === 'patch' ? definition.required !== true : definition.nullable === true
  // What is immutable inside cannot be removed.
  const isKept = isUpdate(use) && holdsImmutable(field)
  const isNullable = isRemovable && !isKept && use !== 'answer' && type !== 'json'
  const described = isNullable ? orNull(schema) : schema
  const texts = [definition.description, fillsDefaults(use) && !isKept ? tellDefault(field) : undefined]
  const description = texts.filter((text) => text !== undefined).join(' ')
  return description === '' ? described : { description, ...described }
}

/** In words: by a `default`, some generators conclude that a client has to send it. */
const tellDefault = ({ definition }: Field): string | undefined =>
  'default' in definition && definition.default !== undefined
    ? `Default: ${JSON.stringify(definition.default)}.`
    : undefined

const fillsDefaults = (use: SchemaUse): boolean => use === 'create' || use === 'replace'

function describeType(field: Field, options: ValueOptions): JsonSchema {
  const { fieldType, definition, items, path } = field
  const { use, indexed, describeReference, describeAny } = options
  const { format, ...plain } = fieldType.bodySchema(field)
  // JSON Schema has a format of its own for addresses with letters outside ASCII.
  const keywords: JsonSchema =
    format === undefined ? plain : { ...plain, format: format === 'email' ? 'idn-email' : format }
  const isAnswer = use === 'answer'
  const { valueType } = fieldType
  switch (valueType) {
    case null:
      return describeSecret(keywords)
    case 'string': {
      if (definition.type === 'reference') return describeReference(field)
      // Each of its values has the form of the field.
      if ('enum' in keywords) return keywords
      const source = fieldType.patternOf?.(definition)
      const isLowered = !isAnswer && 'lowercase' in definition && definition.lowercase
      const own =
        source === undefined
          ? undefined
          : printEcma(readSyntax(source, isLowered ? unlowerRanges : undefined))
      if (isAnswer) return own === undefined ? keywords : { ...keywords, pattern: own }
      const limit = indexed.has(path) && fieldType.isScalar && fieldType.isUnbounded ? { maxBytes: true } : {}
      return describeText({ ...keywords, ...limit }, own, definition.type === 'string' ? definition : {})
    }
    case 'timestamp':
      return isAnswer ? { type: 'string', format: 'date-time' } : describeTime(keywords)
    case 'number':
    case 'integer':
      return isAnswer ? keywords : describeNumber(keywords)
    case 'boolean':
      return keywords
    case 'json':
      if (isAnswer) return {}
      // In a patch, null removes.
      return use === 'patch' && definition.required
        ? { allOf: [describeAny(), { not: { type: 'null' } }] }
        : describeAny()
    case 'array': {
      // A patch replaces an array as a whole.
      const inside: SchemaUse = use === 'patch' ? 'element' : use
      return items ? { ...keywords, items: describeValue(items, { ...options, use: inside }) } : keywords
    }
    case 'object':
      return describeObject(field.properties, options)
    default:
      return valueType satisfies never
  }
}

/** An object inside a document; wherever it could be a new one, it must be complete. */
function describeObject(fields: readonly Field[], options: ValueOptions): JsonSchema {
  const { use } = options
  const named = isUpdate(use) ? fields.filter(({ definition }) => !definition.immutable) : fields
  const required = named.filter((field) => isNeeded(field, use)).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(named.map((field) => [field.name, describeValue(field, options)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

const isUpdate = (use: SchemaUse): boolean => use === 'replace' || use === 'patch'

/** Whether a value is at fault without a field. */
export function isNeeded(field: Field, use: SchemaUse): boolean {
  const { definition, defaultAt, properties } = field
  // Of what it does not name, a PUT keeps what is immutable, and no default fills the rest.
  const isKept = use === 'replace' && definition.immutable !== true && holdsImmutable(field)
  const isFilled = fillsDefaults(use) && !isKept && defaultAt(SOME_TIME) !== undefined
  if (definition.required === true) return use !== 'answer' && !isFilled
  return isKept && properties.some((one) => !one.definition.immutable && isNeeded(one, use))
}

const SOME_TIME = '2000-01-01T00:00:00.000Z'
