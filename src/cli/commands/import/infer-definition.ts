import { isPlainObject } from '../../../json/own-properties.js'
import { isFieldName } from '../../../schema/names.js'
import type { FieldDefinition, JsonObject } from '../../../types.js'
import { WrittenNumber } from './extended-json.js'
import { isIdName } from './find-targets.js'

/** The kind of all values of a field. `null` is not a kind: it is stored as a missing value. */
type ValueKind =
  | 'boolean'
  | 'integer'
  | 'number'
  | 'long'
  | 'string'
  | 'timestamp'
  | 'array'
  | 'object'
  | 'mixed'
  | 'nothing'

function kindOf(value: unknown): Exclude<ValueKind, 'mixed' | 'nothing'> {
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'timestamp'
  if (value instanceof WrittenNumber) return value.exact === undefined ? 'long' : kindOf(value.exact)
  if (isPlainObject(value)) return 'object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}

function kindOfAll(values: readonly unknown[]): ValueKind {
  const kinds = new Set<ValueKind>(values.map(kindOf))
  if (kinds.has('number') || kinds.has('long')) kinds.delete('integer')
  if (kinds.has('long')) kinds.delete('number')
  const [kind = 'nothing', ...others] = kinds
  return others.length > 0 ? 'mixed' : kind
}

/**
 * The definition that accepts all given values of a field; `json` if they have no other type in common. Whole numbers
 * are `number`, because the next value may have a fraction, unless the field has the name of an id. Numbers that JSON
 * does not hold exactly are text.
 */
export function inferDefinition(name: string, values: readonly unknown[]): FieldDefinition {
  const given = values.filter((value) => value !== null)
  const nullable = given.length < values.length ? { nullable: true } : {}
  const kind = kindOfAll(given)
  switch (kind) {
    case 'boolean':
    case 'number':
    case 'string':
    case 'timestamp':
      return { type: kind, ...nullable }
    case 'integer':
      return { type: isIdName(name) ? 'integer' : 'number', ...nullable }
    case 'long':
      return { type: 'string', ...nullable }
    case 'array':
      return { type: 'array', items: inferItems(name, given.flat()), ...nullable }
    case 'object':
      return { ...inferObject(given.filter(isPlainObject)), ...nullable }
    case 'mixed':
    case 'nothing':
      return { type: 'json', ...nullable }
    default:
      return kind satisfies never
  }
}

/** Elements are stored unchanged, also `null`. */
function inferItems(name: string, elements: readonly unknown[]): FieldDefinition {
  return elements.includes(null) ? { type: 'json' } : inferDefinition(name, elements)
}

function inferObject(objects: readonly JsonObject[]): FieldDefinition {
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))]
  const folded = new Set(names.map((name) => name.toLowerCase()))
  if (names.length === 0 || folded.size < names.length || !names.every(isFieldName)) return { type: 'json' }
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [
        name,
        inferDefinition(
          name,
          objects.flatMap((one) => (Object.hasOwn(one, name) ? [one[name]] : [])),
        ),
      ]),
    ),
  }
}

/** The stored JSON of a value under its definition: a number as text if the field is text. */
export function toStored(value: unknown, definition: FieldDefinition): unknown {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof WrittenNumber)
    return definition.type === 'string' ? value.text : (value.exact ?? value.text)
  if (typeof value === 'number') return definition.type === 'string' ? String(value) : value
  if (Array.isArray(value)) {
    const items = definition.type === 'array' ? definition.items : ANY
    return value.map((one) => toStored(one, items))
  }
  if (!isPlainObject(value)) return value
  const properties: { readonly [name: string]: FieldDefinition } =
    definition.type === 'object' ? definition.properties : {}
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, toStored(one, properties[name] ?? ANY)]),
  )
}

const ANY: FieldDefinition = { type: 'json' }
