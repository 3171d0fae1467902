import type { Collection } from '../../../config/plan.js'
import type { Fault, ServiceError } from '../../../errors.js'
import { readPointer, toPointerPart, toPointerParts } from '../../../json/pointer.js'
import { includesProperty } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { isSystemField } from '../../../schema/names.js'
import type { Reference } from '../../../schema/references.js'
import type { JsonObject } from '../../../types.js'
import { findRights, ruleToRegister } from '../../authorize.js'
import type { Call } from '../../call.js'
import { conflict, invalid, unknownReference } from '../../refusals.js'

/** Whose errors these are: what they may neither read nor write is not named. */
export type Asker = Pick<Call, 'caller' | 'service'>

/** Says whether a caller may read or write a top-level property, whatever the documents. */
function knows({ caller, service }: Asker, collection: Collection): (name: string) => boolean {
  const { read, create, update } = findRights(service, collection, caller)
  const { hashes } = collection
  const { accounts } = service
  const own = accounts?.users === collection ? accounts : null
  // Anyone can register, and names these at every login.
  const named = own ? [own.identifier.name, own.secret.name] : []
  const writing = [...create, ...update, ...(own?.register ? [ruleToRegister(own)] : [])]
  return (name) =>
    named.includes(name) ||
    (read.some(({ properties }) => includesProperty(properties, name)) &&
      hashes.every((hash) => hash.name !== name)) ||
    writing.some((rule) => acceptsProperty(rule, name, collection))
}

/** Whether the property of a fault is named to a caller. */
export type IsNamed = (fault: Fault) => boolean

export function createNaming(asker: Asker, collection: Collection): IsNamed {
  const isKnown = knows(asker, collection)
  return ({ path }) => path === '' || isKnown(firstName(path))
}

/** What stands for the properties that a caller may neither read nor write. */
const UNNAMED = 'properties that you may neither read nor write'

/**
 * The faults of a body as its caller may learn of them: those of properties that they may neither read nor write
 * become one, of the whole, which names nothing (CONTRACT.md §6).
 */
function redact(asker: Asker, collection: Collection, faults: readonly Fault[]): readonly Fault[] {
  const isNamed = createNaming(asker, collection)
  const hidden = faults.find((fault) => !isNamed(fault))
  if (!hidden) return faults
  return [...faults.filter(isNamed), { path: '', code: hidden.code, message: `has a fault in ${UNNAMED}` }]
}

/** The name that a JSON pointer begins with. */
const firstName = (pointer: string): string => toPointerParts(pointer)[0] ?? ''

/** What a caller knows of a document: the values of a body, and which properties are shown. */
export interface Seen {
  readonly given: JsonObject
  isShown(name: string): boolean
}

/**
 * The fault of a reference of what is stored, as its caller may learn it: of what is hidden on this document, and what the
 * body does not name, it is one of the whole property, and tells neither which parts have it, nor how many, nor what they are.
 */
export function faultSeen(reference: Reference, { given, isShown }: Seen): Fault {
  const fault = unknownReference(reference)
  const name = firstName(fault.path)
  const path = toPointerPart(name)
  if (path === fault.path || isShown(name) || readPointer(given, fault.path) !== undefined) return fault
  return { ...fault, path, message: 'must hold references to documents that you may read' }
}

/** The error of a body with faults. */
export const invalidFor = (
  asker: Asker,
  collection: Collection,
  faults: readonly Fault[],
  at = '',
): ServiceError => {
  const known = redact(asker, collection, faults)
  return invalid(at === '' ? known : known.map((fault) => ({ ...fault, path: at + fault.path })))
}

/** Whether documents may hold a property: what an earlier configuration has made unique need not be declared any more. */
const mayHold = ({ additionalProperties, fields }: Collection, name: string): boolean =>
  additionalProperties || isSystemField(name) || fields.some((field) => field.name === name)

/** The error of a value that is taken. `at` is the place of the document in the body. */
export function conflictFor(
  asker: Asker,
  collection: Collection,
  fields: readonly string[],
  at?: string,
): ServiceError {
  const isKnown = knows(asker, collection)
  const known = fields.filter((field) => isKnown(field) && mayHold(collection, field))
  return conflict(known, at, known.length < fields.length ? UNNAMED : undefined)
}
