import type { Fault } from '../../errors.js'
import { toPointerParts } from '../../json/pointer.js'
import type { Field } from '../field-type.js'
import { suggest } from './names.js'

/** The maximum number of names for which a similar name is searched, because a search compares all candidates. */
const MAX_SOUGHT = 8

type Node = Pick<Field, 'properties' | 'items'>

/**
 * Adds the nearest declared name to the messages of the first few unknown properties. At the top level, the
 * candidates are `accepted`.
 */
export function addNearNames(
  faults: readonly Fault[],
  fields: readonly Field[],
  accepted: readonly string[] = namesOf({ properties: fields, items: null }),
): readonly Fault[] {
  let sought = 0
  return faults.map((fault) => {
    if (fault.code !== 'unknown_property' || sought++ >= MAX_SOUGHT) return fault
    const places = toPointerParts(fault.path)
    const name = places.pop() ?? ''
    const known = places.length === 0 ? accepted : namesOf(findNode(fields, places))
    return { ...fault, message: fault.message + suggest(name, known) }
  })
}

const namesOf = (node: Node | undefined): readonly string[] => node?.properties.map(({ name }) => name) ?? []

function findNode(fields: readonly Field[], places: readonly string[]): Node | undefined {
  let node: Node | null | undefined = { properties: fields, items: null }
  for (const place of places) node = node?.items ?? node?.properties.find(({ name }) => name === place)
  return node ?? undefined
}
