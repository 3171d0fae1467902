import { bounds } from '../bounds.js'
import type { Match } from '../config/plan.js'
import type { BodyWrite, Draft, Referable, Stage } from '../documents/write/draft.js'
import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { applyDefaults, normaliseProperties } from '../fields/schema/normalise.js'
import { collectReferences, findNewReferences, type Reference } from '../fields/schema/references.js'
import { MAX_FAULTS } from '../fields/schema/validator.js'
import { isId, or } from '../filter/filter.js'
import { pickOwn } from '../json/own-properties.js'
import { isUuid } from '../json/uuid.js'
import { bindSet } from '../permissions/write-rules.js'
import { inTurn, whenReady } from '../promises.js'
import type { Call } from '../request/call.js'
import { unknownReference } from '../request/refusals.js'
import type { Deferred } from '../request/store/attempt.js'
import type { Reader } from '../request/store.js'
import type { WriteStep } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'

/** Requires that the references of a document name documents that exist, and that its writer may read. */
export const references: Stage = {
  name: 'references',
  read: (write, bodies) =>
    whenReady(askReferable(write, bodies), (referable) => {
      write.referable = referable
    }),
  judge(draft) {
    const { collection, before, seen, fields, write } = draft
    const [old, present] = before ? [seen.before, seen.after] : [NO_VALUES, fields]
    const found = findNewReferences(collection.referring, old, present)
    const broken = found.filter((one) => !write.referable(one))
    draft.addFaults(toldOf(draft, draft.defer(broken, unknownReference), unknownReference))
    return undefined
  },
  guard(versions, conditions) {
    const {
      call,
      collection,
      before = NO_VALUES,
      after,
      renewed = NOTHING,
      deferred = NO_REFERENCES,
    } = versions
    const { referring } = collection
    // All references in `renewed` count as changed, so that the number of steps does not reveal stored values.
    const held = [
      ...findNewReferences(referring, before, after),
      ...collectReferences(referring, Object.fromEntries(renewed)),
    ]
    const later = deferred.length > 0 ? deferAll(call, deferred) : NONE_DEFERRED
    if (later.length > 0) conditions.deferred = later
    const isLater = ({ collection, id }: Reference): boolean =>
      later.some((one) => one.collection === collection && one.ids.has(id))
    // If a referenced document was deleted, these steps fail, and the next attempt reports the invalid reference.
    for (const one of eachOnce(held)) if (!isLater(one)) conditions.steps.push(requireReference(one))
  },
}

/** Groups references that are checked after all operations of a batch, with the rights that their writer has now. */
const deferAll = (call: Call, references: readonly Reference[]): readonly Deferred[] =>
  Array.from(groupIds(references), ([collection, ids]) => ({
    collection,
    ids,
    findAllowed: () => findTargets(call, collection, { counted: NO_IDS, others: ids }, []),
  }))

const NO_REFERENCES: readonly Reference[] = []
const NONE_DEFERRED: readonly Deferred[] = []

const NO_VALUES: JsonObject = Object.freeze({})

const NOTHING: ReadonlyMap<string, unknown> = new Map()

/** Returns one reference per referenced document. */
const eachOnce = (references: readonly Reference[]): readonly Reference[] => [
  ...new Map(references.map((reference) => [`${reference.collection} ${reference.id}`, reference])).values(),
]

/** Returns the step that requires that the referenced document exists. */
export const requireReference = ({ collection, id }: Reference): WriteStep => ({
  in: collection,
  require: id,
})

/**
 * Returns the validation errors of some references, as far as they may be shown: one per path, up to the limit of a
 * response.
 */
export function toldOf(
  draft: Draft,
  references: readonly Reference[],
  describe: (reference: Reference) => Fault,
): readonly Fault[] {
  const told = new Map<string, Fault>()
  for (const reference of references) {
    const fault = describe(reference)
    if (!told.has(fault.path) && draft.tells(fault)) told.set(fault.path, fault)
    if (told.size === MAX_FAULTS) break
  }
  return [...told.values()]
}

/**
 * Reads the documents that a caller may refer to, before the bodies are evaluated, with one query per collection: those
 * of all ids in the bodies and the rules, and of the stored references that a `match` may check again.
 */
function askReferable(write: BodyWrite, bodies: readonly JsonObject[]): MaybePromise<Referable> {
  const { call, collection, rules, before } = write
  const { referring } = collection
  const { now } = call.binding
  const sets = rules.flatMap((rule): readonly JsonObject[] => {
    const set = rule.set.size > 0 && bindSet(rule, call)
    return set ? [set] : []
  })
  const given = sets.length > 0 ? [...bodies, ...sets] : bodies
  // A rule may drop a property, which then gets its default. So the references in all defaults are read, too.
  const all = referring.some(({ defaultAt }) => defaultAt(now) !== undefined) ? [NO_VALUES, ...given] : given
  const references = all.flatMap((one) => collectPossible(referring, one, now))
  const matches = call.service.plan.matches.from.get(collection.name) ?? []
  const moved = before ? collectMoved(matches, write, given, before.stored) : []
  const named = groupIds(references)
  const asked = moved.length > 0 ? groupIds([...references, ...moved]) : named
  const found = new Map<string, ReadonlyMap<string, JsonObject>>()
  const finding = inTurn(asked, ([name, ids]) => {
    // A batch counts the documents that it reads. Documents of stored references are not counted, because a match only
    // compares them and the count must not reveal them.
    const counted = call.isInBatch ? (named.get(name) ?? NO_IDS) : ids
    const others = counted === ids ? NO_IDS : new Set([...ids].filter((id) => !counted.has(id)))
    const targets = findTargets(call, name, { counted, others }, comparedIn(matches, name))
    return whenReady(targets, (readable) => {
      if (readable) found.set(name, readable)
    })
  })
  return whenReady(
    finding,
    () =>
      ({ collection: name, id }) =>
        found.get(name)?.get(id),
  )
}

/** Returns the properties of documents of a target collection that the matches compare. */
const comparedIn = (matches: readonly Match[], target: string): readonly string[] =>
  matches
    .filter((match) => match.target === target)
    .flatMap(({ pairs }) => pairs.map(({ there }) => there.path))

/** Reads the documents of a collection that a caller may refer to; `undefined` if the caller may read none. */
const findTargets = (
  call: Call,
  name: string,
  { counted, others }: { readonly counted: ReadonlySet<string>; readonly others: ReadonlySet<string> },
  compared: readonly string[],
): MaybePromise<ReadonlyMap<string, JsonObject> | undefined> =>
  whenReady(call.learnToRead({ name }), () => {
    const access = call.access({ name })
    if (!access) return undefined
    return whenReady(findReadable(call.store.read(access), counted, compared), (readable) => {
      if (others.size === 0) return readable
      const reading = findReadable(call.store.read(access, 'compare'), others, compared)
      return whenReady(reading, (stored) => new Map([...readable, ...stored]))
    })
  })

const NO_IDS: ReadonlySet<string> = new Set()

/** Returns the references that a document with this body may have, including those in defaults. */
function collectPossible(referring: readonly Field[], body: JsonObject, now: string): readonly Reference[] {
  const named = referring.filter(({ name }) => Object.hasOwn(body, name))
  const own = Object.fromEntries(named.map(({ name }) => [name, body[name]]))
  return collectReferences(referring, applyDefaults(referring, normaliseProperties(referring, own), now))
}

/**
 * Returns the stored references with a `match` whose fields in this document may change. Targets of other stored
 * references are not read, because the duration of an update must not reveal references that its caller may not read.
 */
function collectMoved(
  matches: readonly Match[],
  { collection, operation }: BodyWrite,
  given: readonly JsonObject[],
  stored: JsonObject,
): readonly Reference[] {
  const moved = matches
    .filter((match) => operation === 'put' || given.some((one) => namesOwn(match, one)))
    .map(({ field }) => field)
  if (moved.length === 0) return []
  return collectReferences(collection.referring, stored).filter(({ field }) => moved.includes(field))
}

/** Whether a body contains a property that a match compares. */
const namesOwn = ({ pairs }: Match, body: JsonObject): boolean =>
  pairs.some(({ here }) => Object.hasOwn(body, here.path))

/** The maximum number of ids in one query: more than a body of the default size can contain, fewer than databases accept. */
const MAX_IDS = 30_000

/** Reads the documents with these ids that a reader may read. Returns the properties in `names` of each. */
function findReadable(
  reader: Reader,
  ids: ReadonlySet<string>,
  names: readonly string[],
): MaybePromise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>()
  // If only the ids matter, a limit of one byte keeps the storage from loading documents unnecessarily.
  const bytes = names.length === 0 ? 1 : bounds.readBytes
  const read = (left: readonly string[]): MaybePromise<ReadonlyMap<string, JsonObject>> => {
    if (left.length === 0) return found
    const filter = or(left.slice(0, MAX_IDS).map(isId))
    return whenReady(reader.list({ filter, bytes }), (listed) => {
      for (const document of listed) found.set(document._id, pickOwn(document, names))
      const rest = listed.rest ?? []
      if (names.length === 0) for (const id of rest) found.set(id, NO_VALUES)
      return read([...left.slice(MAX_IDS), ...(names.length > 0 ? rest : [])])
    })
  }
  return read([...ids].filter(isUuid))
}

const groupIds = (references: readonly Reference[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const byCollection = new Map<string, Set<string>>()
  for (const { collection, id } of references) {
    const ids = byCollection.get(collection)
    if (ids) ids.add(id)
    else byCollection.set(collection, new Set([id]))
  }
  return byCollection
}
