import type { Collection } from '../config/plan.js'
import { collectReferences } from '../fields/schema/references.js'
import type { Store } from '../request/store.js'
import { forEachSliced, type Sliced } from '../slices.js'
import type { WriteStep } from '../storage.js'
import type { Cascade } from './unset-references.js'

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
export const findGoing: Sliced<
  [store: Store, gone: ReadonlySet<string>, left: readonly Candidate[]],
  ReadonlySet<string>
> = async (store, gone, left, slices) => {
  const referrers = new Map<string, string[]>()
  const going = new Set<string>()
  const reached = [...gone]
  await forEachSliced(slices, left, async (candidate) => {
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
    slices.left -= STEPS_A_LOOK
  })
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
