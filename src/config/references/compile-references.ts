import { toPointerPart } from '../../json/pointer.js'
import type { ConfigReport } from '../../json/report.js'
import { suggest } from '../../schema/names.js'
import type { Collection, Referrer, ServicePlan } from '../plan.js'
import type { IsUnsure } from '../shape/check-shape.js'
import { compileMatches } from './compile-matches.js'
import { type FoundReference, findReferences } from './find-references.js'

/**
 * Finds the references between collections. A reference to a missing collection, at too many levels, or with an
 * impossible `onDelete` or `match` is a fault.
 */
export function compileReferences(
  collections: ReadonlyMap<string, Collection>,
  isUnsure: IsUnsure,
  report: ConfigReport,
): Pick<ServicePlan, 'referrers' | 'matches'> {
  const references = [...collections.values()].flatMap(({ name, fields }) => {
    const schema = report.at('collections').at(name).at('schema')
    return fields.flatMap((field) => findReferences(field, name, schema.at(field.name)))
  })
  const referrers = new Map<string, Referrer[]>()
  for (const reference of references) {
    const { field, collection, target, place, ref } = reference
    // A collection with a fault in its shape still counts as present.
    if (!collections.has(target) && !isUnsure(`/collections${toPointerPart(target)}/schema`)) {
      const message = `is not a collection${suggest(target, [...collections.keys()])}`
      place.at('collection').fault(`${JSON.stringify(target)} ${message}`)
    }
    if (!ref) {
      place.fault('a reference may be in an array, not in an array of arrays')
      continue
    }
    const { definition } = field
    const onDelete = (definition.type === 'reference' && definition.onDelete) || 'restrict'
    if (onDelete === 'unset') checkUnset(reference)
    const others = referrers.get(target) ?? []
    referrers.set(target, [...others, { collection, field: ref, onDelete }])
  }
  return { referrers, matches: compileMatches(references, collections, isUnsure, report) }
}

/** Rejects `onDelete: "unset"` on a required reference. */
function checkUnset({ field, array, place }: FoundReference): void {
  const at = place.at('onDelete')
  if (field.definition.required) at.fault('a field that is required cannot be "unset"')
  const least = array?.definition.type === 'array' ? (array.definition.minItems ?? 0) : 0
  if (least > 0) at.fault(`the elements of an array with minItems ${least} cannot be "unset"`)
}
