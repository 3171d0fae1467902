import type { Collection, Referrer, ServicePlan } from '../config/plan.js'
import { ServiceError } from '../errors.js'
import { collectReferences } from '../fields/schema/references.js'
import { and, type FieldRef, type Filter, isId, or } from '../filter/filter.js'
import type { AttachedSteps } from '../request/attachment.js'
import type { Call, Service } from '../request/call.js'
import type { Pace } from '../request/pace.js'
import { inUse } from '../request/refusals.js'
import type { WriteFailure } from '../request/store/attempt.js'
import type { Store } from '../request/store.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'
import { type Cascade, MAX_CASCADE, readAll } from './unset-references.js'

/** Adds to the number of other documents that a delete, or a whole batch, removes or changes. */
export type Count = (documents: number) => void

/**
 * Returns a function that counts documents. It throws `cascade_too_large` above the limit of documents that a delete
 * may remove or change.
 */
export function createCount({ shared }: Call): Count {
  let total = shared?.cascaded ?? 0
  return (documents) => {
    total += documents
    if (total > MAX_CASCADE) throw tooLarge()
    if (shared) shared.cascaded = total
  }
}

/** A document that will be deleted. */
export interface Removal {
  readonly collection: Collection
  readonly stored: StoredDocument
  readonly count: Count
}

/**
 * Finds the documents that refer to a document with `cascade`, directly or through other documents. The result also
 * contains the document itself. Reads with the rights of the service itself.
 */
export async function findCascade(
  call: Call,
  { collection: { name }, stored: { _id, _version }, count }: Removal,
): Promise<Cascade> {
  const cascade = new Map([[name, new Map([[_id, _version]])]])
  let wave: readonly (readonly [collection: string, ids: readonly string[]])[] = [[name, [_id]]]
  while (wave.length > 0) {
    const next: [string, string[]][] = []
    for (const [collection, ids] of wave) {
      for (const { collection: from, field } of referrersOf(call.service, collection, 'cascade')) {
        const known = cascade.get(from) ?? new Map<string, number>()
        cascade.set(from, known)
        const fresh: string[] = []
        for await (const found of readAll(call, from, refersTo(field, ids), known.size)) {
          const others = found.filter((document) => !known.has(document._id))
          count(others.length)
          for (const document of others) {
            known.set(document._id, document._version)
            fresh.push(document._id)
          }
        }
        if (fresh.length > 0) next.push([from, fresh])
      }
    }
    wave = next
  }
  return cascade
}

const referrersOf = (
  { plan }: Service,
  collection: string,
  onDelete: Referrer['onDelete'],
): readonly Referrer[] =>
  (plan.referrers.get(collection) ?? []).filter((referrer) => referrer.onDelete === onDelete)

const refersTo = (field: FieldRef, ids: Iterable<string>): Filter =>
  or(Array.from(ids, (value): Filter => ({ kind: 'eq', field, value })))

/** A document that the delete of another document may delete by cascade. */
export interface Candidate {
  readonly collection: Collection
  readonly id: string
}

export const keyOf = ({ collection: { name }, id }: Candidate): string => `${name}/${id}`

/** The cost of reading a document again, in steps. */
const STEPS_A_LOOK = 200

/**
 * Returns the keys of `gone`, and of the candidates in `left` that currently refer with `cascade` to a document of
 * `gone`, directly or through other candidates. A candidate that no longer exists counts as deleted.
 */
export async function findGoing(
  store: Store,
  gone: ReadonlySet<string>,
  left: readonly Candidate[],
  pace: Pace,
): Promise<ReadonlySet<string>> {
  const referrers = new Map<string, string[]>()
  const going = new Set<string>()
  const reached = [...gone]
  for (const candidate of left) {
    const key = keyOf(candidate)
    const { name, fields } = candidate.collection
    const stored = await store.own(name).find(candidate.id)
    if (!stored) reached.push(key)
    for (const { field, collection, id } of collectReferences(fields, stored ?? {})) {
      if (!('onDelete' in field.definition) || field.definition.onDelete !== 'cascade') continue
      const target = `${collection}/${id}`
      const known = referrers.get(target)
      if (known) known.push(key)
      else referrers.set(target, [key])
    }
    const pause = pace(STEPS_A_LOOK)
    if (pause) await pause
  }
  for (let key = reached.pop(); key !== undefined; key = reached.pop()) {
    if (going.has(key)) continue
    going.add(key)
    reached.push(...(referrers.get(key) ?? []))
  }
  return going
}

/** Returns the steps that require that documents still have the versions in which they were found. */
export const requireFound = (found: Cascade): readonly WriteStep[] =>
  [...found].flatMap(([collection, versions]) =>
    Array.from(versions, ([id, version]) => ({ in: collection, require: id, version })),
  )

/** Steps that require that no document refers to a deleted document. `refuse` throws the error for a failed step. */
interface Referrers {
  readonly steps: readonly WriteStep[]
  readonly refuse: (failure: WriteFailure) => void
}

/**
 * Plans the steps that follow a delete and require that no document refers to a deleted document. If a deleted document
 * was created again under the same `_id` (`isStanding`), documents may refer to it, except with references that
 * restrict the delete.
 */
export function planReferrers(
  { referrers }: ServicePlan,
  cascade: Cascade,
  isStanding: (collection: string, id: string) => boolean = () => false,
): Referrers {
  const steps: WriteStep[] = []
  const restricts = new Set<number>()
  for (const [name, versions] of cascade) {
    const all = [...versions.keys()]
    const gone = all.filter((id) => !isStanding(name, id))
    for (const { collection: from, field, onDelete } of referrers.get(name) ?? []) {
      const ids = onDelete === 'restrict' ? all : gone
      if (ids.length === 0) continue
      // Only a reference that restricts the delete is an error. The next attempt finds other references that a
      // concurrent write has added.
      if (onDelete === 'restrict') restricts.add(steps.length)
      steps.push({ in: from, refuse: refersTo(field, ids) })
    }
  }
  return {
    steps,
    refuse({ reason, step }) {
      if (reason === 'found' && restricts.has(step)) throw inUse()
    },
  }
}

/** Returns the steps that delete the state that belongs to deleted documents, such as the sessions of a user. */
export const takeWithDelete = (
  { service, deadline }: Call,
  name: string,
  ids: readonly string[],
): MaybePromise<AttachedSteps> => service.attachments.get(name)?.takeWithDelete({ deadline }, ids) ?? NOTHING

const NOTHING: AttachedSteps = { steps: [] }

const tooLarge = (): ServiceError =>
  new ServiceError(
    'cascade_too_large',
    `The delete would also delete or change more than ${MAX_CASCADE} other documents.`,
  )

const VERSION: FieldRef = { path: '_version', type: 'integer', each: false }

/** Returns a filter that matches a document only in this version. */
export const versionFilter = ({ _id, _version }: StoredDocument): Filter =>
  and([isId(_id), { kind: 'eq', field: VERSION, value: _version }])
