import type { ConfigFault } from '../errors.js'
import { PatternFault, parsePattern } from '../filter/pattern/parse-pattern.js'
import { toPointerPart } from '../json/pointer.js'
import { MAX_SECRET_BYTES } from '../schema/body-schema.js'
import { collectPaths, compileFields, type Field, SYSTEM_FIELD_PLANS, traitsOf } from '../schema/field.js'
import { RESERVED_FIELD_NAMES, suggest } from '../schema/names.js'
import { parseTimestamp } from '../schema/timestamp.js'
import { type BodyValidator, compileValidator } from '../schema/validator.js'
import type { CollectionPlan, IndexPlan } from '../storage.js'
import type { CollectionConfig, FieldDefinition } from '../types.js'
import { checkDefaults } from './check-defaults.js'
import { UNSURE } from './settle-shape.js'

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
  const validate = compileValidator(fields, {
    indexed,
    additionalProperties: config.additionalProperties ?? false,
  })
  checkDefaults(fields, validate, at, faults)
  const paths = new Map([...collectPaths(fields), ...SYSTEM_FIELD_PLANS].map((field) => [field.path, field]))
  return { fields, paths, validate, storage: { name, indexes } }
}

/** No two names may differ by case alone, nor a name from a reserved one (CONTRACT.md §1). */
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

/** Notes a fault of an attribute; `part` is where in it. */
type Refuse = (attribute: string, message: string, part?: string) => void

/**
 * The definition with its timestamps in stored form, after the checks that a JSON Schema cannot say, and without the
 * attributes that are at fault: what else there is, is judged as if they were not there.
 */
function settleDefinition(definition: FieldDefinition, at: string, faults: ConfigFault[]): FieldDefinition {
  const unusable = new Set<string>()
  const refuse: Refuse = (attribute, message, part = '') => {
    unusable.add(attribute)
    faults.push({ path: `${at}/${attribute}${part}`, message })
  }
  const settled = settleInside(settleTimestamps(definition, refuse), at, faults, refuse)
  checkBounds(settled, unusable, refuse)
  // Some of its values are at fault.
  if ('enum' in settled && settled.enum && hasHoles(settled.enum)) unusable.add('enum')
  if (unusable.size === 0) return settled
  const usable = Object.entries(settled).filter(([attribute]) => !unusable.has(attribute))
  return Object.fromEntries(usable) as FieldDefinition
}

function settleInside(
  definition: FieldDefinition,
  at: string,
  faults: ConfigFault[],
  refuse: Refuse,
): FieldDefinition {
  switch (definition.type) {
    case 'hash':
      if ((definition.minLength ?? 0) > MAX_SECRET_BYTES) {
        refuse('minLength', `is more than the ${MAX_SECRET_BYTES} bytes that a secret can have`)
      }
      return definition
    case 'string':
      checkText(definition, refuse)
      return definition
    case 'array':
      refuseImmutable(definition.items, `${at}/items`, faults)
      return { ...definition, items: settleDefinition(definition.items, `${at}/items`, faults) }
    case 'object': {
      checkCase(Object.keys(definition.properties), RESERVED_FIELD_NAMES, `${at}/properties`, faults)
      const properties = Object.entries(definition.properties).map(([name, property]) => [
        name,
        settleDefinition(property, `${at}/properties${toPointerPart(name)}`, faults),
      ])
      return { ...definition, properties: Object.fromEntries(properties) }
    }
    default:
      return definition
  }
}

const hasHoles = (list: readonly unknown[]): boolean => Object.keys(list).length < list.length

function checkBounds(definition: FieldDefinition, unusable: Set<string>, refuse: Refuse): void {
  const attributes = new Map<string, unknown>(Object.entries(definition))
  for (const [lower, upper] of BOUNDS) {
    const [min, max] = [attributes.get(lower), attributes.get(upper)]
    if (min === undefined || max === undefined || unusable.has(lower) || unusable.has(upper)) continue
    // Numbers, or timestamps in their stored form, which order as text.
    if ((min as number) <= (max as number)) continue
    refuse(lower, `is greater than ${upper}`)
    unusable.add(upper)
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

function settleTimestamps(definition: FieldDefinition, refuse: Refuse): FieldDefinition {
  if (definition.type !== 'timestamp') return definition
  const settle = (attribute: 'minimum' | 'maximum' | 'default'): object => {
    const text = definition[attribute]
    if (text === undefined || (attribute === 'default' && text === '$now')) return {}
    const stored = parseTimestamp(text)
    if (stored === undefined) {
      const allowed =
        attribute === 'default' ? 'an RFC 3339 date-time, a date or "$now"' : 'an RFC 3339 date-time or date'
      refuse(attribute, `must be ${allowed}, found ${JSON.stringify(text)}`)
    }
    return { [attribute]: stored ?? text }
  }
  return { ...definition, ...settle('minimum'), ...settle('maximum'), ...settle('default') }
}

function checkText(definition: FieldDefinition & { readonly type: 'string' }, refuse: Refuse): void {
  try {
    if (definition.pattern !== undefined) parsePattern(definition.pattern, { ignoreCase: false })
  } catch (thrown) {
    if (!(thrown instanceof PatternFault)) throw thrown
    refuse('pattern', `the pattern ${thrown.message}`)
  }
  for (const [i, value] of Object.entries(definition.enum ?? [])) {
    const trimmed = definition.trim ? value.trim() : value
    if ((definition.lowercase ? trimmed.toLowerCase() : trimmed) !== value) {
      refuse('enum', 'can never be stored: trim or lowercase change it', `/${i}`)
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
  // `flatMap` passes over holes.
  const declared = (config.indexes ?? []).flatMap((index, i): IndexPlan[] => {
    const refs = index.fields.flatMap((name, j) => {
      const field = candidates.find((candidate) => candidate.name === name)
      if (field?.definition === UNSURE) return []
      if (field?.ref && traitsOf(field.type).isScalar) return [field.ref]
      const known = candidates
        .filter(({ type }) => traitsOf(type).isScalar)
        .map((candidate) => candidate.name)
      const reason = field ? `holds no single values` : `is no top-level field${suggest(name, known)}`
      faults.push({ path: `${at}/indexes/${i}/fields/${j}`, message: `${JSON.stringify(name)} ${reason}` })
      return []
    })
    return [{ fields: refs, unique: index.unique === true }]
  })
  return [...marked, ...createdAt, ...declared]
}
