import type { Collection, Match, ServicePlan } from '../config/plan.js'
import { type Asker, faultSeen, invalidFor, type Seen } from '../documents/write/rules/redact.js'
import { collectReferences, type Reference } from '../fields/schema/references.js'
import type { Ordered } from '../filter/compare.js'
import { and, type FieldRef, type Filter, not, nothing } from '../filter/filter.js'
import { brokenReference, disagreeing, unknownReference } from '../request/refusals.js'
import type { Agreement } from '../request/store/attempt.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'

/** A write of one document; a new one has no `before`. */
interface MatchedWrite {
  readonly before?: StoredDocument
  /**
   * The values of properties that count as changed regardless of the stored value; `undefined` for none. Default: none.
   */
  readonly renewed?: ReadonlyMap<string, unknown>
  /** Whether other documents may refer to the `_id` of a new document, because the client has chosen it. */
  readonly isNamed?: boolean
  readonly after: StoredDocument
  /** Its path in the body if it is only a part of the body. */
  readonly at?: string | undefined
  /** The caller who receives the errors. Default: an operator, who may see every name. */
  readonly asker?: Asker
  /** The parts of the previous document that the caller knows. Default: none. */
  readonly seen?: Seen
}

const UNSEEN: Seen = { given: {}, isShown: () => false }

/** The sides of a write that are evaluated before it is planned. */
interface Changed extends Pick<MatchedWrite, 'renewed'> {
  readonly before?: JsonObject
  readonly after: JsonObject
}

/** Finds the values of a document that a reference may lead to; `undefined` if it may not. */
export type FindTarget = (reference: Reference) => JsonObject | undefined

/**
 * Returns the invalid references among those that are new or whose own side has changed: each must lead to a document that
 * the caller may read, and match it (CONTRACT.md §2, "Match"), unless matching is evaluated later.
 */
export const judgeMatches = (
  { matches }: ServicePlan,
  collection: Collection,
  { before = {}, after, renewed }: Changed,
  { findTarget, isLater }: { readonly findTarget: FindTarget; readonly isLater: boolean },
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

/** The references of a match that must be evaluated. */
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

/** The conditions between a document and those that it refers to, and those that refer to it. */
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

/** The evaluated references must match; removed ones need not match any more. */
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

/** No document that refers to this one may mismatch its new values. */
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

/** A missing value matches nothing. */
const equals = (field: FieldRef, value: Ordered): Filter =>
  value === undefined ? nothing : { kind: 'eq', field, value }

const placeOf = ({ path, inside = '' }: FieldRef): string => `${path} ${inside}`
