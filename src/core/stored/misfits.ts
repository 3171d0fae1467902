import { bounds } from '../bounds.js'
import type { Collection } from '../config/plan.js'
import { namesOfHashes, readFields } from '../documents/write/stored-document.js'
import type { Field } from '../fields/field-type.js'
import { HIDDEN } from '../fields/names.js'
import { findNearest } from '../fields/schema/names.js'
import { stepsToRead } from '../json/domain.js'
import { isObject, pickWhere } from '../json/own-properties.js'
import { toPointerPart, toPointerParts } from '../json/pointer.js'
import { isUuid, lowerUuid } from '../json/uuid.js'
import { whenReady } from '../promises.js'
import { forEachSliced, Slices } from '../slices.js'
import type { StoredDocument } from '../storage.js'
import type { MaybePromise } from '../types.js'

/** A way in which a stored document does not fit the schema of its collection. It contains no values. */
interface Misfit {
  /** The dotted path of the declared field, or of the stored name that is not declared; at most 256 characters. */
  readonly field: string
  /** The code of the validation error that a write of this document would have, such as `required`; or `not_normalised`. */
  readonly error: string
  /** The end of a sentence that begins with the field. */
  readonly message: string
}

/** How many stored documents do not fit in one way. */
export interface CountedMisfit extends Misfit {
  readonly count: number
  /** The first `_id`s of these documents, at most five. */
  readonly ids: readonly string[]
  /** A JSON pointer to the definition of the field, from that of its collection. */
  readonly pointer: string
  /**
   * For a name that is not declared: a field of the same object that no document has, and that may be its new name.
   */
  readonly renamed?: string
}

/** Counts the documents of a collection that do not fit its schema. */
export interface MisfitCounter {
  /** Counts a document. Returns the errors in it. Pauses when a slice of work on several documents is used up. */
  note(document: StoredDocument): MaybePromise<ReadonlySet<string>>
  /** Declared fields come first, in the order of the schema. */
  result(): readonly CountedMisfit[]
}

/** The error of a stored name that is not declared. */
export const UNDECLARED = 'unknown_property'

/** The error of a text that the service would store in another form. */
const NOT_NORMALISED = [
  'not_normalised',
  'is not in the form in which it would be stored now (trim, lowercase, UUIDs), so a query for it does not find it',
] as const

/** The error of a reference that is not an `_id` of any document. */
const NO_REFERENCE = ['unknown_reference', 'is not the _id of a document'] as const

/** The end of a sentence about a property that has the name of a field which is stored under another name. */
const TAKEN = 'is the stored name of no field'

/** The maximum number of `_id`s of one misfit. */
export const MAX_IDS = 5
/** The maximum number of undeclared names that are counted separately, because documents may have any number. */
const MAX_NAMES = 20
/** The maximum length of a path. */
const MAX_NAME = 256

/** All undeclared names beyond the maximum. */
export const OTHERS: Misfit = { field: '*', error: UNDECLARED, message: 'are not in the schema' }

type Node = Pick<Field, 'properties' | 'items'>

/** A location in documents: all elements of an array share one. */
interface Place {
  readonly field: string
  readonly pointer: string
  /** The fields of the object that contains it. */
  readonly siblings: readonly Field[]
  readonly isDeclared: boolean
  /** Whether it has the name of a field that is stored under another name. */
  readonly isTaken?: boolean
}

/** Finds the definition for a JSON pointer into a document, or the innermost object around it that is declared. */
function locate(fields: readonly Field[], path: string): Place {
  let node: Node = { properties: fields, items: null }
  let place: Place = { field: '', pointer: '/schema', siblings: fields, isDeclared: true }
  for (const name of toPointerParts(path)) {
    if (node.items) {
      node = node.items
      place = { ...place, pointer: `${place.pointer}/items` }
      continue
    }
    const isTop = place.field === ''
    const isTaken = name.startsWith(HIDDEN)
    const own = isTaken ? name.slice(HIDDEN.length) : name
    const field = (isTop ? own : `${place.field}.${own}`).slice(0, MAX_NAME)
    const inner = node.properties.find((one) => one.name === name)
    const pointer = isTop || !inner ? place.pointer : `${place.pointer}/properties`
    const siblings = node.properties
    if (!inner) return { field, pointer, siblings, isDeclared: false, isTaken }
    place = { field, pointer: pointer + toPointerPart(name), siblings, isDeclared: true }
    node = inner
  }
  return place
}

type AddMisfit = (path: string, error: string, message: string) => void

interface MisfitSearch {
  /** The paths of the fields that no document has had so far. */
  readonly absent: Set<string>
  readonly slices: Slices
  readonly add: AddMisfit
}

/**
 * Finds the ways in which a stored document does not fit, with the validator of writes. Hashes are stored separately
 * from fields, so they are compared by their names. Removes from `absent` the paths of the fields that the document has.
 */
function findMisfits(
  { fields, hashes, validate }: Collection,
  document: StoredDocument,
  { absent, slices, add }: MisfitSearch,
): MaybePromise<unknown> {
  const secrets = new Set(hashes.map(({ name }) => name))
  const hashed = new Set(namesOfHashes(document))
  const stored = readFields(document)
  /** The secrets and the hashes with an error of their own: they are not missing as well. */
  const known = new Set<string>()
  /** The places where the validator finds an error. */
  const wrong = new Set<string>()
  const note = (name: string, error: string, message: string): void => {
    known.add(toPointerPart(name))
    add(toPointerPart(name), error, message)
  }
  for (const name of [...hashed, ...Object.keys(stored)]) absent.delete(name)
  for (const name of secrets) {
    if (Object.hasOwn(stored, name)) note(name, 'wrong_type', 'is stored as it is, not as a hash')
    else if (hashed.has(name)) known.add(toPointerPart(name))
  }
  for (const name of hashed) {
    if (secrets.has(name)) continue
    if (!fields.some((field) => field.name === name)) note(name, UNDECLARED, 'is not in the schema')
    else if (!Object.hasOwn(stored, name)) note(name, 'wrong_type', 'is stored as a hash')
  }
  for (const name of Object.keys(document)) if (name.startsWith(HIDDEN)) note(name, UNDECLARED, TAKEN)
  const body = secrets.size === 0 ? stored : pickWhere(stored, (name) => !secrets.has(name))
  // The validator would return one error for each element of an array, and only so many. So each is noted here.
  const validating = validate.inSlices(body, slices, {
    isRelevant({ path, code, message }) {
      wrong.add(path)
      if (!known.has(path)) add(path, code, message)
      return false
    },
  })
  return whenReady(validating, () =>
    visitFields({ properties: fields, items: null }, body, {
      slices,
      see(field, value, path) {
        absent.delete(field.path)
        if (typeof value !== 'string' || wrong.has(path)) return
        if (field.type === 'reference' && !isUuid(lowerUuid(value))) add(path, ...NO_REFERENCE)
        else if (field.normalise(value) !== value) add(path, ...NOT_NORMALISED)
      },
    }),
  )
}

interface FieldVisit {
  readonly slices: Slices
  readonly see: (field: Field, value: unknown, path: string) => void
}

/** Calls `see` with each declared field that is in a value, with each of its elements, and with their JSON pointers. */
function visitFields(
  { properties, items }: Node,
  value: unknown,
  visiting: FieldVisit,
  path = '',
): MaybePromise<void> {
  const { slices, see } = visiting
  const visit = (field: Field, inner: unknown, name: string | number): MaybePromise<void> => {
    slices.left -= stepsToRead(inner)
    const at = `${path}/${name}`
    see(field, inner, at)
    return typeof inner === 'object' ? visitFields(field, inner, visiting, at) : undefined
  }
  if (items && Array.isArray(value))
    return forEachSliced(slices, value, (element, i) => visit(items, element, i))
  if (!isObject(value)) return undefined
  return forEachSliced(slices, properties, (field) =>
    Object.hasOwn(value, field.name) ? visit(field, value[field.name], field.name) : undefined,
  )
}

const pathsOf = (fields: readonly Field[]): readonly string[] =>
  fields.flatMap(({ path, properties, items }) => [path, ...pathsOf(items?.properties ?? properties)])

/** The steps that it takes to note a misfit. */
const MISFIT_STEPS = 500

/** Creates the counter of a collection. Its size does not depend on the number of documents. */
export function createMisfitCounter(collection: Collection): MisfitCounter {
  const { fields } = collection
  const slices = new Slices(bounds.longFirstSlice)
  const counted = new Map<string, Misfit & Place & { count: number; readonly ids: string[] }>()
  const absent = new Set(pathsOf(fields))
  let names = 0

  const count = (misfit: Misfit, place: Place, { _id }: StoredDocument): void => {
    const key = JSON.stringify([misfit.error, misfit.field])
    const known = counted.get(key) ?? { ...place, ...misfit, count: 0, ids: [] }
    counted.set(key, known)
    known.count += 1
    if (known.ids.length < MAX_IDS) known.ids.push(_id)
  }
  /**
   * Returns the similar field that no document has. If there is none, and no other name is undeclared, returns the only
   * required field that no document has.
   */
  const findNewName = ({ field }: Misfit, siblings: readonly Field[]): string | undefined => {
    if (field === OTHERS.field) return undefined
    const left = siblings.filter(({ path }) => absent.has(path))
    const near = findNearest(
      field.split('.').at(-1) ?? '',
      left.map(({ name }) => name),
    )
    const [lacking, ...others] = left.filter(({ definition }) => definition.required)
    const isOnly = [...counted.values()].every(
      (one) => one.error !== UNDECLARED || one.siblings !== siblings || one.field === field,
    )
    return near ?? (isOnly && others.length === 0 ? lacking?.name : undefined)
  }
  return {
    note(document) {
      const found = new Map<string, readonly [Misfit, Place]>()
      const add: AddMisfit = (path, error, message) => {
        slices.left -= MISFIT_STEPS
        const place = locate(fields, path)
        const key = JSON.stringify([error, place.field])
        const isNew = !place.isDeclared && !counted.has(key) && !found.has(key)
        if (isNew) names += 1
        if (isNew && names > MAX_NAMES) found.set('', [OTHERS, { ...place, field: OTHERS.field }])
        else if (!found.has(key))
          found.set(key, [{ field: place.field, error, message: place.isTaken ? TAKEN : message }, place])
      }
      slices.left -= bounds.documentSteps
      const finding = findMisfits(collection, document, { absent, slices, add })
      const counting = whenReady(finding, () => {
        for (const [misfit, place] of found.values()) count(misfit, place, document)
        return new Set([...found.values()].map(([{ error }]) => error))
      })
      return whenReady(counting, (errors) => (slices.left > 0 ? errors : slices.next().then(() => errors)))
    },
    result() {
      const order = pathsOf(fields)
      const rankOf = ({ field }: Misfit): number =>
        order.includes(field) ? order.indexOf(field) : order.length
      const all = [...counted.values()].sort((a, b) => rankOf(a) - rankOf(b))
      return all.map(({ siblings, isDeclared, isTaken, ...misfit }) => {
        const renamed = misfit.error === UNDECLARED && !isTaken ? findNewName(misfit, siblings) : undefined
        return { ...misfit, ...(renamed === undefined ? {} : { renamed }) }
      })
    },
  }
}
