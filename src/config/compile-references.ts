import type { Field } from '../fields/field-type.js'
import type { FieldRef } from '../filter/filter.js'
import { toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import { suggest } from '../schema/names.js'
import type { Collection, Referrer } from './plan.js'
import type { IsUnsure } from './shape/check-shape.js'

/** Finds the references between collections; one to a missing collection, or too deep, is a fault. */
export function compileReferences(
  collections: ReadonlyMap<string, Collection>,
  isUnsure: IsUnsure,
  report: ConfigReport,
): ReadonlyMap<string, readonly Referrer[]> {
  const referrers = new Map<string, Referrer[]>()
  for (const { name, fields } of collections.values()) {
    const schema = report.at('collections').at(name).at('schema')
    for (const { field, target, place, ref } of fields.flatMap((field) =>
      findReferences(field, schema.at(field.name), null),
    )) {
      // A collection with a fault in its shape still counts as present.
      if (!collections.has(target) && !isUnsure(`/collections${toPointerPart(target)}/schema`)) {
        const message = `names no collection${suggest(target, [...collections.keys()])}`
        place.at('collection').fault(`${JSON.stringify(target)} ${message}`)
      }
      if (!ref) {
        place.fault('a reference may lie in one array, not in an array of arrays')
      } else {
        const { definition } = field
        const onDelete = (definition.type === 'reference' && definition.onDelete) || 'restrict'
        const others = referrers.get(target) ?? []
        referrers.set(target, [...others, { collection: name, field: ref, onDelete }])
      }
    }
  }
  return referrers
}

interface FoundReference {
  readonly field: Field
  readonly target: string
  /** Its place in the configuration. */
  readonly place: ConfigReport
  /** The field as filters see it; `null` where they cannot reach it. */
  readonly ref: FieldRef | null
}

/** `array` is the path of the array around a field, `undefined` inside two. */
function findReferences(
  field: Field,
  place: ConfigReport,
  array: string | null | undefined,
): readonly FoundReference[] {
  const { definition, items, properties, path } = field
  if (definition.type === 'reference')
    return [{ field, target: definition.collection, place, ref: refOf(path, array) }]
  if (items) return findReferences(items, place.at('items'), array === null ? path : undefined)
  return properties.flatMap((property) =>
    findReferences(property, place.at('properties').at(property.name), array),
  )
}

function refOf(path: string, array: string | null | undefined): FieldRef | null {
  if (array === undefined) return null
  if (array === null) return { path, type: 'string', each: false }
  const element: FieldRef = { path: array, type: 'string', each: true }
  return path === array ? element : { ...element, inside: path.slice(array.length + 1) }
}
