import type { WriteStep } from '../../storage.js'
import type { Asking } from './engine.js'
import type { Statements } from './statements.js'

/** The `require` steps that have been asked, and the first of them whose document is not there. */
export interface Held {
  readonly places: ReadonlySet<number>
  readonly missing: number | undefined
}

/**
 * Asks what steps require before any of them is applied, all of a collection at once: so that ten thousand references
 * do not cost as many questions. What is held stays until this write is done: who removes it waits.
 */
export function* holdRequired(statements: Statements, steps: readonly WriteStep[]): Asking<Held> {
  const required = findUnchanged(steps)
  const collections = [...new Set(required.map(({ collection }) => collection))].sort()
  const found = new Set<string>()
  for (const collection of collections) {
    const ids = required.flatMap((one) => (one.collection === collection ? [one.id] : []))
    for (const statement of statements.hold(collection, [...new Set(ids)]))
      for (const id of (yield statement).rows) found.add(keyOf(collection, String(id)))
  }
  const missing = required.find(({ collection, id }) => !found.has(keyOf(collection, id)))
  return { places: new Set(required.map(({ place }) => place)), missing: missing?.place }
}

interface Required {
  readonly place: number
  readonly collection: string
  readonly id: string
}

const keyOf = (collection: string, id: string): string => `${collection} ${id}`

/** What steps require that no step before adds or removes: asked first it gives the same answer. */
function findUnchanged(steps: readonly WriteStep[]): readonly Required[] {
  const added = new Set<string>()
  const removedFrom = new Set<string>()
  return steps.flatMap((step, place): readonly Required[] => {
    const { in: collection } = step
    if ('insert' in step) added.add(keyOf(collection, step.insert._id))
    if ('remove' in step) removedFrom.add(collection)
    if (!('require' in step)) return []
    const { require: id } = step
    return removedFrom.has(collection) || added.has(keyOf(collection, id)) ? [] : [{ place, collection, id }]
  })
}
