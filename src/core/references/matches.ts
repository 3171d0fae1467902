import type { Collection, Match, ServicePlan } from '../config/plan.js'
import type { Referable, Stage, Versions } from '../documents/write/draft.js'
import { type Asker, faultSeen, invalidFor, type Seen } from '../documents/write/redact.js'
import type { Fault } from '../errors.js'
import { collectReferences, type Reference } from '../fields/schema/references.js'
import type { Ordered } from '../filter/compare.js'
import { and, type FieldRef, type Filter, not, nothing } from '../filter/filter.js'
import { brokenReference, disagreeing, unknownReference } from '../request/refusals.js'
import type { Agreement } from '../request/store/attempt.js'
import type { JsonObject } from '../types.js'
import { toldOf } from './references.js'

/** Requires that matching references agree with their targets (CONTRACT.md §2, "Match"). */
export const match: Stage = {
  name: 'match',
  judge(draft) {
    const { call, collection, before, fields, unseen, write } = draft
    const change = before
      ? { before: before.stored, after: { ...fields, _id: before.stored._id }, renewed: unseen }
      : { after: fields }
    // A batch checks this after all its operations.
    const options = { findTarget: write.referable, isLater: call.isInBatch === true }
    const wrong = judgeMatches(call.service.plan, collection, change, options)
    const describe = (reference: Reference): Fault =>
      before ? faultSeen(reference, draft) : unknownReference(reference)
    draft.faults = [...draft.faults, ...toldOf(draft, wrong, describe)]
    return undefined
  },
  plan(versions, { agreements }) {
    const { call, collection } = versions
    agreements.push(...planAgreements(call.service.plan, collection, { ...versions, asker: call }))
  },
}

/** A write of one document. */
interface MatchedWrite extends Omit<Versions, 'call' | 'collection'> {
  /** The caller who receives the errors. Default: an operator, who may see every name. */
  readonly asker?: Asker
}

const UNSEEN: Seen = { given: {}, isShown: () => false }

/** A document before and after a write, for the checks before the write is planned. */
interface Changed extends Pick<MatchedWrite, 'renewed'> {
  readonly before?: JsonObject
  readonly after: JsonObject
}

/**
 * Checks the references with a `match` that are new, or whose matched fields in this document have changed. Returns
 * those whose target the caller may not read, or whose target does not match (CONTRACT.md §2, "Match"). With
 * `isLater`, whether the target matches is checked later.
 */
export const judgeMatches = (
  { matches }: ServicePlan,
  collection: Collection,
  { before = {}, after, renewed }: Changed,
  { findTarget, isLater }: { readonly findTarget: Referable; readonly isLater: boolean },
): readonly Reference[] =>
  (matches.from.get(collection.name) ?? []).flatMap((match) =>
    findRenewed(match, collection, { before, after, renewed }).filter((reference) => {
      const isItself = match.target === collection.name && reference.id === after._id
      const target = isItself ? after : findTarget(reference)
      return !target || (!isLater && !agrees(match, after, target))
    }),
  )

/** Whether all pairs of values exist and are equal. */
const agrees = ({ pairs }: Match, holder: JsonObject, target: JsonObject): boolean =>
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
  { matches }: ServicePlan,
  collection: Collection,
  written: MatchedWrite,
): readonly Agreement[] {
  const from = matches.from.get(collection.name)
  const to = matches.to.get(collection.name)
  if (!from && !to) return NONE
  return [
    ...(from ?? []).flatMap((match) => planReferring(match, collection, written)),
    ...(to ?? []).flatMap((match) => planReferred(match, written)),
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
