import type { WriteStep } from '../../storage.js'
import { type SqlDialect, USES, type Use } from './dialect.js'
import type { Asking, SqlEngine } from './engine.js'
import { pinnedIds } from './pinned-ids.js'
import type { Named } from './statements.js'

/** The places of the `require` steps that were judged, and the first of them that is refused. */
export interface Held {
  readonly places: ReadonlySet<number>
  readonly refused?: { readonly step: number; readonly reason: 'missing' | 'changed' }
}

/**
 * Holds the documents that steps name before any of them is applied, in one order for all writes, and judges
 * what is required: ten thousand references then take few questions.
 */
export function* holdNamed({ dialect, statements }: SqlEngine, steps: readonly WriteStep[]): Asking<Held> {
  const versions = new Map<string, number | null>()
  for (const statement of statements.hold(nameDocuments(steps, dialect.hold)))
    for (const row of (yield statement).rows) {
      const [collection, id, version] = JSON.parse(String(row)) as [string, string, number | null]
      versions.set(keyOf(collection, id), version)
    }
  return judgeRequired(steps, versions)
}

const keyOf = (collection: string, id: string): string => `${collection} ${id}`

/** Judges each requirement by the steps before it. What these may have removed has to be asked in turn. */
function judgeRequired(steps: readonly WriteStep[], versions: Map<string, number | null>): Held {
  const places = new Set<number>()
  // Documents, or whole collections.
  const removed = new Set<string>()
  for (const [place, step] of steps.entries()) {
    const { in: collection } = step
    if ('remove' in step) {
      const keys = pinnedIds(step.remove)?.map((id) => keyOf(collection, id)) ?? [collection]
      for (const key of keys) removed.add(key)
    } else if ('require' in step) {
      const { require, version } = step
      const key = keyOf(collection, require)
      if (removed.has(collection) || removed.has(key)) continue
      const present = versions.get(key)
      if (present === undefined) return { places, refused: { step: place, reason: 'missing' } }
      if ((version ?? present) !== present) return { places, refused: { step: place, reason: 'changed' } }
      places.add(place)
    } else {
      const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      if (document) versions.set(keyOf(collection, document._id), document._version)
    }
  }
  return { places }
}

/** The documents to hold, in the order of collections. A single one that is only written needs no holding. */
function nameDocuments(steps: readonly WriteStep[], { endings }: SqlDialect['hold']): readonly Named[] {
  const named = new Map<string, { readonly ids: Set<string>; readonly use: Use }>()
  for (const step of steps) {
    const [use, ids] = useOf(step)
    if (ids.length === 0 || endings[use] === undefined) continue
    const known = named.get(step.in)
    const all = known?.ids ?? new Set()
    for (const id of ids) all.add(id)
    named.set(step.in, { ids: all, use: known ? strongerOf(known.use, use) : use })
  }
  const count = [...named.values()].reduce((sum, { ids }) => sum + ids.size, 0)
  if (count < 2 && !steps.some((step) => 'require' in step)) return []
  return [...named]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([collection, { ids, use }]) => ({ collection, ids: [...ids], use }))
}

/** What a step does with the documents that it names. */
function useOf(step: WriteStep): readonly [Use, readonly string[]] {
  if ('require' in step) return [step.version === undefined ? 'require' : 'require version', [step.require]]
  if ('replace' in step) return ['replace', [step.replace._id]]
  return ['remove', ('remove' in step && pinnedIds(step.remove)) || []]
}

const strongerOf = (a: Use, b: Use): Use => (USES.indexOf(a) > USES.indexOf(b) ? a : b)
