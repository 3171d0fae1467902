import type { Field } from '../../fields/field-type.js'
import type { FieldRef } from '../../filter/filter.js'
import type { ConfigReport } from '../../json/report.js'

/** A reference of a schema, at any depth. */
export interface FoundReference {
  readonly field: Field
  /** The collection whose documents contain the reference. */
  readonly collection: string
  readonly target: string
  /** The position of the reference in the configuration, to report errors there. */
  readonly place: ConfigReport
  /** The field in the form that filters use; `null` if filters cannot address it, as in an array of arrays. */
  readonly ref: FieldRef | null
  /** The array field whose elements are the references; `null` if the reference is not an element. */
  readonly array: Field | null
}

/**
 * The surroundings of a field. `path` is the path of the array that contains the field: `null` without an array,
 * `undefined` in an array of arrays.
 */
interface FieldSurroundings {
  readonly collection: string
  readonly path: string | null | undefined
  readonly array: Field | null
}

/** Finds the references in a field, at any depth. */
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
