import type { Field } from '../../fields/field-type.js'
import type { FieldRef } from '../../filter/filter.js'
import type { ConfigReport } from '../../json/report.js'

/** A reference of a schema, at any depth. */
export interface FoundReference {
  readonly field: Field
  /** The collection whose documents hold it. */
  readonly collection: string
  readonly target: string
  /** Its place in the configuration. */
  readonly place: ConfigReport
  /** The field as filters see it; `null` if they cannot reach it. */
  readonly ref: FieldRef | null
  /** The array whose elements are the references. */
  readonly array: Field | null
}

/** The surroundings of a field: `path` is that of the array around it, `undefined` inside two arrays. */
interface FieldSurroundings {
  readonly collection: string
  readonly path: string | null | undefined
  readonly array: Field | null
}

/** Finds the references in a field. */
export const findReferences = (
  field: Field,
  collection: string,
  place: ConfigReport,
): readonly FoundReference[] => find(field, place, { collection, path: null, array: null })

function find(field: Field, place: ConfigReport, around: FieldSurroundings): readonly FoundReference[] {
  const { definition, items, properties, path } = field
  const { collection, array } = around
  if (definition.type === 'reference')
    return [{ field, collection, target: definition.collection, place, ref: refOf(path, around.path), array }]
  if (items) {
    const inside = around.path === null ? path : undefined
    return find(items, place.at('items'), { collection, path: inside, array: field })
  }
  return properties.flatMap((property) =>
    find(property, place.at('properties').at(property.name), { ...around, array: null }),
  )
}

function refOf(path: string, array: string | null | undefined): FieldRef | null {
  if (array === undefined) return null
  if (array === null) return { path, type: 'string', each: false }
  const element: FieldRef = { path: array, type: 'string', each: true }
  return path === array ? element : { ...element, inside: path.slice(array.length + 1) }
}
