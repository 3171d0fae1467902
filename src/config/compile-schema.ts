import type { ConfigFault } from '../errors.js'
import { PatternFault, parsePattern } from '../filter/pattern/parse-pattern.js'
import { MAX_SECRET_BYTES } from '../schema/body-schema.js'
import { collectPaths, compileFields, type Field, SYSTEM_FIELD_PLANS, traitsOf } from '../schema/field.js'
import { RESERVED_FIELD_NAMES, suggest, toPointerPart } from '../schema/names.js'
import { parseTimestamp } from '../schema/timestamp.js'
import { acceptAll, type BodyValidator, compileValidator } from '../schema/validator.js'
import type { CollectionPlan, IndexPlan } from '../storage.js'
import type { CollectionConfig, FieldDefinition } from '../types.js'
import { checkDefaults } from './check-defaults.js'

/** What a collection's schema says, compiled. */
export interface CompiledSchema {
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  readonly storage: CollectionPlan
}

/** Compiles the schema and the indexes of a collection that has the right shape, adding what is wrong to `faults`. */
export function compileSchema(
  name: string,
  config: CollectionConfig,
  at: string,
  faults: ConfigFault[],
): CompiledSchema {
  const before = faults.length
  checkCase(Object.keys(config.schema), RESERVED_FIELD_NAMES, `${at}/schema`, faults)
  const definitions = Object.fromEntries(
    Object.entries(config.schema).map(([field, definition]) => [
      field,
      settleDefinition(definition, `${at}/schema${toPointerPart(field)}`, faults),
    ]),
  )
  const fields = compileFields(definitions)
  const indexes = compileIndexes(config, fields, at, faults)
  const indexed = new Set(indexes.flatMap((index) => index.fields.map(({ path }) => path)))
  // What cannot be parsed cannot be compiled: the faults found so far are enough.
  const validate: BodyValidator =
    faults.length > before
      ? acceptAll
      : compileValidator(fields, { indexed, additionalProperties: config.additionalProperties ?? false })
  checkDefaults(fields, validate, at, faults)
  const paths = new Map([...collectPaths(fields), ...SYSTEM_FIELD_PLANS].map((field) => [field.path, field]))
  return { fields, paths, validate, storage: { name, indexes } }
}

/** No two names may differ by case alone, nor a name from a reserved one (contract §1). */
export function checkCase(
  names: readonly string[],
  reserved: readonly string[],
  at: string,
  faults: ConfigFault[],
): void {
  const byFold = new Map(reserved.map((name) => [name.toLowerCase(), name]))
  for (const name of names) {
    const first = byFold.get(name.toLowerCase())
    if (first === undefined) byFold.set(name.toLowerCase(), name)
    else if (first !== name) {
      faults.push({
        path: at + toPointerPart(name),
        message: `differs from ${JSON.stringify(first)} by case alone`,
      })
    }
  }
}

const BOUNDS = [
  ['minLength', 'maxLength'],
  ['minimum', 'maximum'],
  ['minItems', 'maxItems'],
] as const

/** The definition with its timestamps in stored form, after the checks that a JSON Schema cannot say. */
function settleDefinition(definition: FieldDefinition, at: string, faults: ConfigFault[]): FieldDefinition {
  const settled = definition.type === 'timestamp' ? settleTimestamps(definition, at, faults) : definition
  for (const [lower, upper] of BOUNDS) {
    const attributes = new Map<string, unknown>(Object.entries(settled))
    const [min, max] = [attributes.get(lower), attributes.get(upper)]
    // Numbers, or timestamps in their stored form, which order as text.
    if (min !== undefined && max !== undefined && (min as number) > (max as number)) {
      faults.push({ path: `${at}/${lower}`, message: `is greater than ${upper}` })
    }
  }
  switch (settled.type) {
    case 'hash':
      if ((settled.minLength ?? 0) > MAX_SECRET_BYTES) {
        faults.push({
          path: `${at}/minLength`,
          message: `is more than the ${MAX_SECRET_BYTES} bytes that a secret can have`,
        })
      }
      return settled
    case 'string':
      checkText(settled, at, faults)
      return settled
    case 'array':
      refuseImmutable(settled.items, `${at}/items`, faults)
      return { ...settled, items: settleDefinition(settled.items, `${at}/items`, faults) }
    case 'object': {
      checkCase(Object.keys(settled.properties), RESERVED_FIELD_NAMES, `${at}/properties`, faults)
      const properties = Object.entries(settled.properties).map(([name, property]) => [
        name,
        settleDefinition(property, `${at}/properties${toPointerPart(name)}`, faults),
      ])
      return { ...settled, properties: Object.fromEntries(properties) }
    }
    default:
      return settled
  }
}

/** Elements have no names by which an update could be told from another element. */
function refuseImmutable(definition: FieldDefinition, at: string, faults: ConfigFault[]): void {
  if (definition.type !== 'object') return
  for (const [name, property] of Object.entries(definition.properties)) {
    const place = `${at}/properties${toPointerPart(name)}`
    if (property.immutable)
      faults.push({ path: `${place}/immutable`, message: 'means nothing inside an array' })
    refuseImmutable(property, place, faults)
  }
}

function settleTimestamps(
  definition: FieldDefinition & { readonly type: 'timestamp' },
  at: string,
  faults: ConfigFault[],
): FieldDefinition {
  const settle = (attribute: 'minimum' | 'maximum' | 'default'): object => {
    const text = definition[attribute]
    if (text === undefined || (attribute === 'default' && text === '$now')) return {}
    const stored = parseTimestamp(text)
    if (stored === undefined) {
      const allowed =
        attribute === 'default' ? 'an RFC 3339 date-time, a date or "$now"' : 'an RFC 3339 date-time or date'
      faults.push({
        path: `${at}/${attribute}`,
        message: `must be ${allowed}, found ${JSON.stringify(text)}`,
      })
    }
    return { [attribute]: stored ?? text }
  }
  return { ...definition, ...settle('minimum'), ...settle('maximum'), ...settle('default') }
}

function checkText(
  definition: FieldDefinition & { readonly type: 'string' },
  at: string,
  faults: ConfigFault[],
): void {
  try {
    if (definition.pattern !== undefined) parsePattern(definition.pattern, { ignoreCase: false })
  } catch (thrown) {
    if (!(thrown instanceof PatternFault)) throw thrown
    faults.push({ path: `${at}/pattern`, message: `the pattern ${thrown.message}` })
  }
  for (const [i, value] of (definition.enum ?? []).entries()) {
    const trimmed = definition.trim ? value.trim() : value
    if ((definition.lowercase ? trimmed.toLowerCase() : trimmed) !== value) {
      faults.push({ path: `${at}/enum/${i}`, message: 'can never be stored: trim or lowercase change it' })
    }
  }
}

/** Which fields are always indexed, those marked so, and the declared ones; `_id` is every storage's own key. */
function compileIndexes(
  config: CollectionConfig,
  fields: readonly Field[],
  at: string,
  faults: ConfigFault[],
): readonly IndexPlan[] {
  const candidates = [...fields, ...SYSTEM_FIELD_PLANS]
  const marked = fields.flatMap(({ ref, definition }): IndexPlan[] => {
    const { unique, index } = definition as { readonly unique?: boolean; readonly index?: boolean }
    // Whatever is deleted is looked for among those that refer to it.
    return ref && (unique || index || definition.type === 'reference')
      ? [{ fields: [ref], unique: unique === true }]
      : []
  })
  const createdAt = SYSTEM_FIELD_PLANS.flatMap(({ name, ref }): IndexPlan[] =>
    ref && name === 'createdAt' ? [{ fields: [ref], unique: false }] : [],
  )
  const declared = (config.indexes ?? []).map((index, i): IndexPlan => {
    const refs = index.fields.flatMap((name, j) => {
      const field = candidates.find((candidate) => candidate.name === name)
      if (field?.ref && traitsOf(field.type).isScalar) return [field.ref]
      const known = candidates
        .filter(({ type }) => traitsOf(type).isScalar)
        .map((candidate) => candidate.name)
      const reason = field ? `holds no single values` : `is no top-level field${suggest(name, known)}`
      faults.push({ path: `${at}/indexes/${i}/fields/${j}`, message: `${JSON.stringify(name)} ${reason}` })
      return []
    })
    return { fields: refs, unique: index.unique === true }
  })
  return [...marked, ...createdAt, ...declared]
}
