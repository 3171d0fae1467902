import type { Collection, Match } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import type { Field } from '../../fields/field-type.js'
import { isId, or } from '../../filter/filter.js'
import { pickOwn } from '../../json/own-properties.js'
import { bindSet } from '../../permissions/write-rules.js'
import { isUuid } from '../../schema/names.js'
import { applyDefaults, normaliseProperties } from '../../schema/normalise.js'
import {
  collectReferences,
  findNewReferences,
  holdsReference,
  type Reference,
} from '../../schema/references.js'
import { MAX_FAULTS } from '../../schema/validator.js'
import type { WriteStep } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Permit } from '../authorize.js'
import type { Call } from '../call.js'
import { unknownReference } from '../refusals.js'
import { BATCH_BYTES, type Reader } from '../store.js'
import { type FindTarget, judgeMatches } from './matches.js'
import type { Tells } from './rules/choose-rule.js'

/** What a caller may refer to: documents that exist and are readable, with the values that a `match` compares. */
export type Referable = FindTarget

/** Accepts every reference: for documents without any. */
export const anyReferable: Referable = () => NO_VALUES

const NO_VALUES: JsonObject = Object.freeze({})

/** What an update changes, and how. */
export interface Updating {
  readonly stored: JsonObject
  readonly mode: 'patch' | 'put'
}

/**
 * Finds the documents that a caller may refer to, among all ids in the bodies and the rules, and in what is
 * stored where that can be judged anew, before they are judged: one query per collection.
 */
export const findReferable = (
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
  updating?: Updating,
): MaybePromise<Referable> =>
  permit.collection.hasReferences ? askReferable(call, permit, bodies, updating) : anyReferable

async function askReferable(
  call: Call,
  { collection, rules }: Permit,
  bodies: readonly JsonObject[],
  updating: Updating | undefined,
): Promise<Referable> {
  const sets: readonly JsonObject[] = rules.map((rule) => bindSet(rule, call) ?? {})
  const { now } = call.binding
  const fields = collection.fields.filter(holdsReference)
  const matches = call.service.plan.matches.from.get(collection.name) ?? []
  // A property that a rule drops may get a default, so the defaults of an empty body count too.
  const references = [{}, ...bodies, ...sets].flatMap((one) => {
    const named = fields.filter(({ name }) => Object.hasOwn(one, name)).map(({ name }) => [name, one[name]])
    const possible = normaliseProperties(fields, Object.fromEntries(named))
    return collectReferences(fields, applyDefaults(fields, possible, now))
  })
  const moved = updating ? collectMoved(matches, fields, [...bodies, ...sets], updating) : []
  const found = new Map<string, ReadonlyMap<string, JsonObject>>()
  const named = groupIds(references)
  for (const [name, ids] of groupIds([...references, ...moved])) {
    const learning = call.learnToRead({ name })
    if (learning) await learning
    const access = call.access({ name })
    const pairs = matches.filter(({ target }) => target === name).flatMap((match) => match.pairs)
    const compared = pairs.map(({ there }) => there.path)
    if (!access) continue
    // What a batch reads is counted. What is stored already is only compared, by a match: where it leads must not be told.
    const counted = call.isInBatch ? (named.get(name) ?? new Set<string>()) : ids
    const others = new Set([...ids].filter((id) => !counted.has(id)))
    const readable = await findReadable(call.store.read(access), counted, compared)
    const stored = await findReadable(call.store.read(access, 'compare'), others, compared)
    found.set(name, new Map([...readable, ...stored]))
  }
  return ({ collection: name, id }) => found.get(name)?.get(id)
}

/**
 * The stored references whose own side of a `match` may change. Others are not asked for: how long an update takes
 * must not tell of references that its caller may not read.
 */
function collectMoved(
  matches: readonly Match[],
  fields: readonly Field[],
  given: readonly JsonObject[],
  { stored, mode }: Updating,
): readonly Reference[] {
  const isNamed = ({ pairs }: Match): boolean =>
    pairs.some(({ here }) => given.some((one) => Object.hasOwn(one, here.path)))
  const moved = matches.filter((match) => mode === 'put' || isNamed(match)).map(({ field }) => field)
  if (moved.length === 0) return []
  return collectReferences(fields, stored).filter(({ field }) => moved.includes(field))
}

/** The most ids in one query: more than a body of the default size can hold, fewer than engines take. */
const MAX_IDS = 30_000

/** The documents among these that may be read with an access to their collection, with some properties. */
async function findReadable(
  reader: Reader,
  ids: ReadonlySet<string>,
  names: readonly string[],
): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>()
  let left = [...ids].filter(isUuid)
  while (left.length > 0) {
    const filter = or(left.slice(0, MAX_IDS).map(isId))
    left = left.slice(MAX_IDS)
    // Where only the ids matter, `bytes` keeps the storage from reading more than it must.
    const bytes = names.length === 0 ? 1 : BATCH_BYTES
    const listed = await reader.list({ filter, bytes })
    for (const document of listed) found.set(document._id, pickOwn(document, names))
    if (names.length > 0) left.push(...(listed.rest ?? []))
    else for (const id of listed.rest ?? []) found.set(id, NO_VALUES)
  }
  return found
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

/** Which references there may be, and which of their faults are told. */
export interface ReferenceJudge {
  readonly referable: Referable
  readonly tells: Tells
  /** The fault of a reference. Default: at its place. */
  readonly describe?: (reference: Reference) => Fault
}

/** The faults of references of a new document: those of a missing target, and of one that does not agree. */
export const judgeAll = (
  call: Call,
  collection: Collection,
  document: JsonObject,
  judge: ReferenceJudge,
): readonly Fault[] => [
  ...judgeReferences(collection, {}, document, judge),
  ...judgeMatching(call, collection, { after: document }, judge),
]

/** The faults of references that do not agree. In a batch, agreement is judged once all operations are. */
export function judgeMatching(
  { service, isInBatch }: Call,
  collection: Collection,
  change: Parameters<typeof judgeMatches>[2],
  judge: ReferenceJudge,
): readonly Fault[] {
  const { plan } = service
  if (!plan.matches.from.has(collection.name)) return []
  const options = { findTarget: judge.referable, isLater: isInBatch === true }
  return toldOf(judgeMatches(plan, collection, change, options), judge)
}

/** The faults of references that are new in `after`. */
export const judgeReferences = (
  collection: Collection,
  before: JsonObject,
  after: JsonObject,
  judge: ReferenceJudge,
): readonly Fault[] =>
  collection.hasReferences
    ? toldOf(
        findNewReferences(collection.fields, before, after).filter((one) => !judge.referable(one)),
        judge,
      )
    : []

/** The faults that are told of some references, one for each place, as many as an answer holds. */
function toldOf(
  references: readonly Reference[],
  { tells, describe = unknownReference }: ReferenceJudge,
): readonly Fault[] {
  const told = new Map<string, Fault>()
  for (const reference of references) {
    const fault = describe(reference)
    if (!told.has(fault.path) && tells(fault)) told.set(fault.path, fault)
    if (told.size === MAX_FAULTS) break
  }
  return [...told.values()]
}

/**
 * The references that must be valid when a write takes effect, each once: those that are new, and those in values that
 * count as new, so that no step more or less tells what was there.
 */
export const referencesToHold = (
  { fields, hasReferences }: Collection,
  before: JsonObject,
  after: JsonObject,
  renewed: ReadonlyMap<string, unknown> = NOTHING,
): readonly Reference[] =>
  hasReferences
    ? eachOnce([
        ...findNewReferences(fields, before, after),
        ...collectReferences(fields, Object.fromEntries(renewed)),
      ])
    : []

const NOTHING: ReadonlyMap<string, unknown> = new Map()

/** The references to different documents. */
export const eachOnce = <T extends Reference>(references: readonly T[]): readonly T[] => [
  ...new Map(references.map((reference) => [`${reference.collection} ${reference.id}`, reference])).values(),
]

/** The step that requires a valid reference. */
export const requireReference = ({ collection, id }: Reference): WriteStep => ({
  in: collection,
  require: id,
})
