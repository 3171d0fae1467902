import type { Collection } from '../../config/plan.js'
import type { Fault, ServiceError } from '../../errors.js'
import { isFieldName, isSystemField } from '../../fields/schema/names.js'
import type { Reference } from '../../fields/schema/references.js'
import { readPointer, toPointerPart, toPointerParts } from '../../json/pointer.js'
import { includesProperty } from '../../permissions/grants.js'
import { acceptsProperty } from '../../permissions/write-rules.js'
import { findRights, ruleToRegister } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import { conflict, invalid, unknownReference } from '../../request/refusals.js'
import type { JsonObject } from '../../types.js'

/** The caller to whom errors are reported. Properties that this caller may neither read nor write are not named. */
export type Asker = Pick<Call, 'caller' | 'service'>

/** Returns a function that says whether a caller may read or write a top-level property in any document. */
function knows({ caller, service }: Asker, collection: Collection): (name: string) => boolean {
  const { read, create, update } = findRights(service, collection, caller)
  const { hashes } = collection
  const { accounts } = service
  const own = accounts?.users === collection ? accounts : null
  // Every client knows these names, because it uses them at login.
  const named = own ? [own.identifier.name, own.secret.name] : []
  const writing = [...create, ...update, ...(own?.register ? [ruleToRegister(own)] : [])]
  return (name) =>
    named.includes(name) ||
    (read.some(({ properties }) => includesProperty(properties, name)) &&
      hashes.every((hash) => hash.name !== name)) ||
    writing.some((rule) => acceptsProperty(rule, name, collection))
}

/** Returns whether a validation error may name its property to the caller. */
export type IsNamed = (fault: Fault) => boolean

export function createNaming(asker: Asker, collection: Collection): IsNamed {
  const isKnown = knows(asker, collection)
  return ({ path }) => path === '' || isKnown(firstName(path))
}

/** The text that represents the properties that a caller may neither read nor write. */
const UNNAMED = 'properties that you may neither read nor write'

/** Returns the first name of a JSON pointer. */
const firstName = (pointer: string): string => toPointerParts(pointer)[0] ?? ''

/** The parts of a document that a caller knows: the values of a body, and which properties are shown. */
export interface Seen {
  readonly given: JsonObject
  isShown(name: string): boolean
}

/** The parts of a document that its caller knows if nothing is known. */
export const UNSEEN: Seen = { given: {}, isShown: () => false }

/**
 * Returns the validation error of a stored reference, redacted for its caller. If the property is hidden in this
 * document and not named in the body, the error is one of the whole property. So it does not reveal which parts are
 * invalid, their number, or their values.
 */
export function faultSeen(reference: Reference, seen: Seen): Fault {
  const fault = unknownReference(reference)
  const name = firstName(fault.path)
  const path = toPointerPart(name)
  if (path === fault.path || seen.isShown(name) || readPointer(seen.given, fault.path) !== undefined)
    return fault
  return { ...fault, path, message: 'must contain only references to documents that you may read' }
}

/**
 * Returns the error for a body with validation errors, redacted for its caller: those of properties that the caller may
 * neither read nor write become one error of the whole body, which names nothing (CONTRACT.md §6).
 */
export function invalidFor(
  asker: Asker,
  collection: Collection,
  faults: readonly Fault[],
  at = '',
): ServiceError {
  const isNamed = createNaming(asker, collection)
  const hidden = faults.find((fault) => !isNamed(fault))
  const message = `has an error in ${UNNAMED}`
  const known = hidden ? [...faults.filter(isNamed), { path: '', code: hidden.code, message }] : faults
  return invalid(at === '' ? known : known.map((fault) => ({ ...fault, path: at + fault.path })))
}

/** Whether documents may have a property. A field that an earlier configuration made unique may be undeclared now. */
const mayHold = ({ additionalProperties, fields }: Collection, name: string): boolean =>
  (additionalProperties && isFieldName(name)) ||
  isSystemField(name) ||
  fields.some((field) => field.name === name)

/** Returns the error for unique values that are taken. `at` is the path of the document in the body. */
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
