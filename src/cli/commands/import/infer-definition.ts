import { isObject } from '../../../json/own-properties.js'
import { isFieldName } from '../../../schema/names.js'
import type { FieldDefinition } from '../../../types.js'

/** What all values of a field are. `null` is none of them: it is stored nowhere, as absence. */
type Kind = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object' | 'mixed' | 'nothing'

function kindOf(value: unknown): Exclude<Kind, 'mixed' | 'nothing'> {
  if (Array.isArray(value)) return 'array'
  if (isObject(value)) return 'object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}

function kindOfAll(values: readonly unknown[]): Kind {
  const kinds = new Set<Kind>(values.map(kindOf))
  if (kinds.has('number')) kinds.delete('integer')
  const [kind = 'nothing', ...others] = kinds
  return others.length > 0 ? 'mixed' : kind
}

/** The definition that takes all of some values of JSON; `json` where they have no other type in common. */
export function inferDefinition(values: readonly unknown[]): FieldDefinition {
  const given = values.filter((value) => value !== null)
  const nullable = given.length < values.length ? { nullable: true } : {}
  const kind = kindOfAll(given)
  switch (kind) {
    case 'boolean':
    case 'integer':
    case 'number':
    case 'string':
      return { type: kind, ...nullable }
    case 'array':
      return { type: 'array', items: inferItems(given.flat()), ...nullable }
    case 'object':
      return { ...inferObject(given.filter(isObject)), ...nullable }
    case 'mixed':
    case 'nothing':
      return { type: 'json', ...nullable }
    default:
      return kind satisfies never
  }
}

/** Elements are kept as they are, `null` among them. */
function inferItems(elements: readonly unknown[]): FieldDefinition {
  return elements.includes(null) ? { type: 'json' } : inferDefinition(elements)
}

function inferObject(objects: readonly { readonly [name: string]: unknown }[]): FieldDefinition {
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))]
  const folded = new Set(names.map((name) => name.toLowerCase()))
  if (names.length === 0 || folded.size < names.length || !names.every(isFieldName)) return { type: 'json' }
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [
        name,
        inferDefinition(objects.flatMap((one) => (Object.hasOwn(one, name) ? [one[name]] : []))),
      ]),
    ),
  }
}
