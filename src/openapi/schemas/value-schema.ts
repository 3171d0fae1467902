import type { Field } from '../../fields/field-type.js'
import { unlowerRanges } from '../../filter/pattern/syntax/letter-case.js'
import { readSyntax } from '../../filter/pattern/syntax/read-syntax.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { holdsImmutable } from '../../schema/changes.js'
import { printEcma } from './print-ecma.js'
import { describeNumber, describeSecret, describeText, describeTime, orNull } from './scalars.js'

/**
 * The use of a value. `answer`: a document in a response. `create`: a new document, whose missing fields get their
 * defaults. `replace`: the same, without immutable fields. `element`: a complete value that gets no defaults. `patch`:
 * a merge patch.
 */
export type SchemaUse = 'answer' | 'create' | 'replace' | 'element' | 'patch'

/** The options by which values are described. */
export interface ValueOptions {
  readonly use: SchemaUse
  /** The schema of any JSON in a body. */
  readonly describeAny: () => JsonSchema
  /** The schema of a reference. */
  readonly describeReference: (field: Field) => JsonSchema
  /** The paths whose values an index limits. */
  readonly indexed: ReadonlySet<string>
}

/** The JSON Schema of a field's values, with the keywords of the configuration. */
export function describeValue(field: Field, options: ValueOptions): JsonSchema {
  const { definition, type } = field
  const { use } = options
  const schema = describeType(field, options)
  const isRemovable = use === 'patch' ? definition.required !== true : definition.nullable === true
  // An object with immutable fields cannot be removed.
  const isKept = isUpdate(use) && holdsImmutable(field)
  const isNullable = isRemovable && !isKept && use !== 'answer' && type !== 'json'
  const described = isNullable ? orNull(schema) : schema
  const texts = [definition.description, fillsDefaults(use) && !isKept ? tellDefault(field) : undefined]
  const description = texts.filter((text) => text !== undefined).join(' ')
  return description === '' ? described : { description, ...described }
}

/** The default as a text: from the keyword `default`, some generators conclude that clients must send the field. */
const tellDefault = ({ definition }: Field): string | undefined =>
  'default' in definition && definition.default !== undefined
    ? `Default: ${JSON.stringify(definition.default)}.`
    : undefined

const fillsDefaults = (use: SchemaUse): boolean => use === 'create' || use === 'replace'

function describeType(field: Field, options: ValueOptions): JsonSchema {
  const { fieldType, definition, items, path } = field
  const { use, indexed, describeReference, describeAny } = options
  const { format, ...plain } = fieldType.bodySchema(field)
  // JSON Schema has a separate format for addresses with letters outside ASCII.
  const keywords: JsonSchema =
    format === undefined ? plain : { ...plain, format: format === 'email' ? 'idn-email' : format }
  const isAnswer = use === 'answer'
  const { valueType } = fieldType
  switch (valueType) {
    case null:
      return describeSecret(keywords)
    case 'string': {
      if (definition.type === 'reference') return describeReference(field)
      // The values of an enum already have the form of the field.
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
      // In a patch, `null` removes the field.
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

/** An object inside a document; if it could be new, it must be complete. */
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

/** Whether a value without a field is invalid. */
export function isNeeded(field: Field, use: SchemaUse): boolean {
  const { definition, defaultAt, properties } = field
  // A PUT keeps immutable fields that its body lacks, so the object is not new and gets no defaults.
  const isKept = use === 'replace' && definition.immutable !== true && holdsImmutable(field)
  const isFilled = fillsDefaults(use) && !isKept && defaultAt(SOME_TIME) !== undefined
  if (definition.required === true) return use !== 'answer' && !isFilled
  return isKept && properties.some((one) => !one.definition.immutable && isNeeded(one, use))
}

const SOME_TIME = '2000-01-01T00:00:00.000Z'
