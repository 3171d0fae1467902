import { describeType } from '../../config/describe-type.js'
import type { Collection, Match, Matches, MatchPair, Referrer, ServicePlan } from '../../config/plan.js'
import type { IsUnsure } from '../../config/shape/check-shape.js'
import { UNSURE } from '../../config/shape/settle-shape.js'
import type { Field } from '../../fields/field-type.js'
import { suggest } from '../../fields/schema/names.js'
import { compileField } from '../../filter/compare.js'
import type { FieldRef } from '../../filter/filter.js'
import { toPointerPart } from '../../json/pointer.js'
import type { ConfigReport } from '../../json/report.js'
import { type FoundReference, findReferences } from './find-references.js'

/** Compiles the `match` of every reference (CONTRACT.md §2, "Match"). */
function compileMatches(
  references: readonly FoundReference[],
  collections: ReadonlyMap<string, Collection>,
  isUnsure: IsUnsure,
  report: ConfigReport,
): Matches {
  const from = new Map<string, Match[]>()
  const to = new Map<string, Match[]>()
  for (const { field, ref, collection, target, place } of references) {
    const { definition } = field
    const written = (definition.type === 'reference' && definition.match) || undefined
    const [holder, held] = [collections.get(collection), collections.get(target)]
    if (!written || !holder || !held || !ref) continue
    const sideOf = ({ name, fields }: Collection): MatchSide => ({
      fields,
      isUnsure: isUnsure(`/collections${toPointerPart(name)}/schema`),
    })
    const at = place.at('match')
    const pairs = Object.entries(written).flatMap(([here, there]) =>
      compilePair([here, there], [sideOf(holder), sideOf(held)], at.at(here)),
    )
    for (const [name, field] of Object.entries(written)) {
      refuseUnset(holder, name, report)
      refuseUnset(held, field, report)
    }
    const match: Match = { field, ref, collection, target, pairs }
    from.set(collection, [...(from.get(collection) ?? []), match])
    to.set(target, [...(to.get(target) ?? []), match])
  }
  return { from, to }
}

/** The declared fields of one of the two collections of a match. */
interface MatchSide {
  readonly fields: readonly Field[]
  /** Whether there may be other fields, because the schema has an error. */
  readonly isUnsure: boolean
}

function compilePair(
  names: readonly [here: string, there: string],
  sides: readonly [MatchSide, MatchSide],
  place: ConfigReport,
): readonly MatchPair[] {
  const here = findScalar(names[0], sides[0], place)
  // If `here` has an error, `there` is not checked: one error per pair is enough.
  const there = here && findScalar(names[1], sides[1], place)
  if (!here || !there) return []
  const [a, b] = [describe(here.field), describe(there.field)]
  if (a !== b) {
    place.fault(`matched fields must have the same type, but ${names[0]} is ${a} and ${names[1]} is ${b}`)
    return []
  }
  return [
    {
      here: here.ref,
      there: there.ref,
      readHere: compileField(here.ref),
      readThere: compileField(there.ref),
    },
  ]
}

function findScalar(
  name: string,
  { fields, isUnsure }: MatchSide,
  place: ConfigReport,
): { readonly field: Field; readonly ref: FieldRef } | undefined {
  const field = fields.find((one) => one.name === name)
  if (isUnsure || field?.definition === UNSURE) return undefined
  const scalars = fields.filter(({ fieldType }) => fieldType.isScalar).map((one) => one.name)
  if (!field) place.fault(`${JSON.stringify(name)} is not a top-level field${suggest(name, scalars)}`)
  else if (!field.ref || !field.fieldType.isScalar)
    place.fault(
      `${JSON.stringify(name)} is ${describeType(field)}, but a matched field must have a single value`,
    )
  else return { field, ref: field.ref }
  return undefined
}

/** Describes the type of a field, which must be the same on both sides of a match. */
const describe = ({ definition }: Field): string =>
  definition.type === 'reference' ? `a reference to ${definition.collection}` : `a ${definition.type}`

/**
 * Rejects `onDelete: "unset"` on a matched field: a delete would remove its value, so that documents would no longer
 * match.
 */
function refuseUnset({ name, fields }: Collection, field: string, report: ConfigReport): void {
  const definition = fields.find((one) => one.name === field)?.definition
  if (definition?.type !== 'reference' || definition.onDelete !== 'unset') return
  const place = report.at('collections').at(name).at('schema').at(field).at('onDelete')
  place.fault(`cannot be "unset", because ${JSON.stringify(field)} is used by a "match"`)
}

/**
 * Finds the references between collections. Reports an error for a reference to a missing collection, in an array of
 * arrays, or with an impossible `onDelete` or `match`.
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
    // A collection whose schema has an error still exists.
    if (!collections.has(target) && !isUnsure(`/collections${toPointerPart(target)}/schema`)) {
      const message = `is not a collection${suggest(target, [...collections.keys()])}`
      place.at('collection').fault(`${JSON.stringify(target)} ${message}`)
    }
    if (!ref) {
      place.fault('a reference may be in an array, but not in an array of arrays')
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

/**
 * Rejects `onDelete: "unset"` on a reference that must stay: a required field, or an element of an array with
 * `minItems`.
 */
function checkUnset({ field, array, place }: FoundReference): void {
  const at = place.at('onDelete')
  if (field.definition.required) at.fault('cannot be "unset", because the field is required')
  const least = array?.definition.type === 'array' ? (array.definition.minItems ?? 0) : 0
  if (least > 0) at.fault(`cannot be "unset", because the array has minItems ${least}`)
}
