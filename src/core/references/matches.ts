import type { Collection, Match, ServicePlan } from '../config/plan.js'
import type { Stage, Versions } from '../documents/write/draft.js'
import { type Asker, faultSeen, invalidFor, UNSEEN } from '../documents/write/redact.js'
import { collectReferences, type Reference } from '../fields/schema/references.js'
import type { Ordered } from '../filter/compare.js'
import { and, type FieldRef, type Filter, not, nothing } from '../filter/filter.js'
import { brokenReference, disagreeing, unknownReference } from '../request/refusals.js'
import type { Agreement } from '../request/store/attempt.js'
import type { JsonObject } from '../types.js'
import { toldOf } from './references.js'

/**
 * Requires that references with a `match` agree with their targets (CONTRACT.md §2, "Match"), if they are new, or if
 * their matched fields in this document change.
 */
export const match: Stage = {
  name: 'match',
  judge(draft) {
    const { call, collection, before, fields, unseen, write } = draft
    const after = before ? { ...fields, _id: before.stored._id } : fields
    const change = { before: before?.stored ?? NO_FIELDS, after, renewed: unseen }
    const describe = before ? (one: Reference) => faultSeen(one, draft) : unknownReference
    const isWrong = ({ target: name, pairs }: Match, reference: Reference): boolean => {
      const isItself = name === collection.name && reference.id === after._id
      const target = isItself ? after : write.referable(reference)
      if (!target) return draft.defer([reference], describe).length > 0
      // In a batch, whether the target matches is checked after all operations, but before a hook is called.
      return !draft.isDeferring && !agrees(pairs, after, target)
    }
    const wrong = matchesFrom(call.service.plan, collection).flatMap((one) =>
      findRenewed(one, collection, change).filter((reference) => isWrong(one, reference)),
    )
    draft.addFaults(toldOf(draft, wrong, describe))
    return undefined
  },
  guard(versions, { agreements }) {
    const { call, collection } = versions
    agreements.push(...planAgreements(call.service.plan, collection, { ...versions, asker: call }))
  },
}

const matchesFrom = ({ matches }: ServicePlan, { name }: Collection): readonly Match[] =>
  matches.from.get(name) ?? []

const NO_FIELDS: JsonObject = {}

/** A write of one document. */
interface MatchedWrite extends Omit<Versions, 'call' | 'collection'> {
  /** The caller who receives the errors. Default: an operator, who may see every name. */
  readonly asker?: Asker
}

/** Whether all pairs of values exist and are equal. */
const agrees = (pairs: Match['pairs'], holder: JsonObject, target: JsonObject): boolean =>
  pairs.every(({ readHere, readThere }) => {
    const value = readHere(holder)
    return value !== undefined && value === readThere(target)
  })

/**
 * Returns the references of a match that must be checked: all of them if a matched field of the document has changed,
 * otherwise those that are new or in the values of `renewed`.
 */
function findRenewed(
  match: Match,
  collection: Collection,
  { before, after, renewed = NOTHING }: Sides,
): readonly Reference[] {
  const held = collectMatched(match, collection, after)
  const isMoved = match.pairs.some(
    ({ here, readHere }) => renewed.has(here.path) || readHere(before) !== readHere(after),
  )
  if (isMoved) return held
  const idsIn = (document: JsonObject): ReadonlySet<string> =>
    new Set(collectMatched(match, collection, document).map(({ id }) => id))
  const [old, given] = [idsIn(before), idsIn(Object.fromEntries(renewed))]
  return held.filter(({ id }) => given.has(id) || !old.has(id))
}

/** A document before and after a write. */
interface Sides {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly renewed: ReadonlyMap<string, unknown> | undefined
}

const NOTHING: ReadonlyMap<string, unknown> = new Map()

const collectMatched = (
  { field }: Match,
  { fields }: Collection,
  document: JsonObject,
): readonly Reference[] =>
  collectReferences(fields, document).filter((reference) => reference.field === field)

/**
 * Returns the conditions that a written document must satisfy together with the documents that it refers to, and with
 * those that refer to it.
 */
export function planAgreements(
  plan: ServicePlan,
  collection: Collection,
  written: MatchedWrite,
): readonly Agreement[] {
  return [
    ...matchesFrom(plan, collection).flatMap((one) => planReferring(one, collection, written)),
    ...(plan.matches.to.get(collection.name) ?? []).flatMap((one) => planReferred(one, written)),
  ]
}

const NONE: readonly Agreement[] = []

/**
 * Plans the conditions on the references of a document: new and changed references must match. For a removed
 * reference, an earlier condition of the same batch no longer applies.
 */
function planReferring(
  match: Match,
  collection: Collection,
  { before, after, renewed: names, at = '', asker, seen = UNSEEN }: MatchedWrite,
): readonly Agreement[] {
  const own = { in: collection.name, id: after._id }
  const keyOf = (id: string): string => JSON.stringify([own, '>', placeOf(match.ref), id])
  const was = before ?? {}
  const faultOf = before ? (one: Reference) => faultSeen(one, seen) : unknownReference
  const renewed = findRenewed(match, collection, { before: was, after, renewed: names })
  const held = new Set(collectMatched(match, collection, after).map(({ id }) => id))
  const gone = collectMatched(match, collection, was).filter(({ id }) => !held.has(id))
  return [
    ...gone.map(({ id }): Agreement => ({ ...own, key: keyOf(id) })),
    ...renewed.map((reference): Agreement => {
      const where = and(match.pairs.map(({ there, readHere }) => equals(there, readHere(after))))
      return {
        ...own,
        key: keyOf(reference.id),
        impliedBy: keyOfReferred(match, reference.id),
        step: { in: match.target, require: reference.id, where },
        refuse: () =>
          asker ? invalidFor(asker, collection, [faultOf(reference)], at) : brokenReference(reference, at),
      }
    }),
  ]
}

/** Plans the condition on the documents that refer to this document: each must match its new values. */
function planReferred(
  match: Match,
  { before, after, renewed = NOTHING, isNamed = false }: MatchedWrite,
): readonly Agreement[] {
  const isChanged = !before
    ? isNamed
    : match.pairs.some(
        ({ there, readThere }) => renewed.has(there.path) || readThere(before) !== readThere(after),
      )
  if (!isChanged) return NONE
  const agreeing = and(match.pairs.map(({ here, readThere }) => equals(here, readThere(after))))
  const refers: Filter = { kind: 'eq', field: match.ref, value: after._id }
  return [
    {
      in: match.target,
      id: after._id,
      key: keyOfReferred(match, after._id),
      step: { in: match.collection, refuse: and([refers, not(agreeing)]) },
      refuse: disagreeing,
    },
  ]
}

const keyOfReferred = ({ target, collection, ref }: Match, id: string): string =>
  JSON.stringify([target, id, '<', collection, placeOf(ref)])

/** Returns a filter for a value of a field. A missing value matches nothing. */
const equals = (field: FieldRef, value: Ordered): Filter =>
  value === undefined ? nothing : { kind: 'eq', field, value }

const placeOf = ({ path, inside = '' }: FieldRef): string => `${path} ${inside}`
