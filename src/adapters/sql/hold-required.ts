import type { WriteStep } from '../../storage.js'
import type { Asking } from './engine.js'
import type { Statements } from './statements.js'

/** The places of the `require` steps that were checked, and the first of them whose document is missing. */
export interface Held {
  readonly places: ReadonlySet<number>
  readonly missing: number | undefined
}

/**
 * Checks what steps require before any of them is applied, together for each collection: ten thousand
 * references then take few questions. The documents are held until this write ends: a delete of one waits.
 */
export function* holdRequired(statements: Statements, steps: readonly WriteStep[]): Asking<Held> {
  const { places, wanted } = findUnchanged(steps)
  for (const [collection, ids] of [...wanted].sort(([a], [b]) => (a < b ? -1 : 1)))
    for (const statement of statements.hold(collection, [...ids.keys()]))
      for (const id of (yield statement).rows) ids.delete(String(id))
  const left = [...wanted.values()].flatMap((ids) => [...ids.values()])
  return { places, missing: left.sort((a, b) => a - b)[0] }
}

interface Unchanged {
  readonly places: ReadonlySet<number>
  /** By collection and `_id`: the first place that requires it. */
  readonly wanted: ReadonlyMap<string, Map<string, number>>
}

/** The requirements that no earlier step affects: they can be checked first, with the same result. */
function findUnchanged(steps: readonly WriteStep[]): Unchanged {
  const places = new Set<number>()
  const wanted = new Map<string, Map<string, number>>()
  const added = new Set<string>()
  const removedFrom = new Set<string>()
  for (const [place, step] of steps.entries()) {
    const { in: collection } = step
    if ('insert' in step) added.add(keyOf(collection, step.insert._id))
    else if ('remove' in step) removedFrom.add(collection)
    else if ('require' in step) {
      const { require: id } = step
      if (removedFrom.has(collection) || added.has(keyOf(collection, id))) continue
      places.add(place)
      const ids = wanted.get(collection) ?? new Map<string, number>()
      wanted.set(collection, ids)
      if (!ids.has(id)) ids.set(id, place)
    }
  }
  return { places, wanted }
}

const keyOf = (collection: string, id: string): string => `${collection} ${id}`
