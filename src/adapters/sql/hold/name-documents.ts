import { compare } from '../../../filter/compare.js'
import type { WriteStep } from '../../../storage.js'
import { type LockUse, type SqlDialect, USES } from '../dialect.js'
import { pinnedIds } from '../pinned-ids.js'
import type { NamedDocuments } from '../statements.js'

/** After this many parts of a collection with locks of their own, the rest is one part with its strongest lock. */
const MOST_PARTS = 16

/**
 * The documents to lock, in the order of collections and of `_id`, each for its strongest use. A single document that
 * is only written needs no lock in advance.
 */
export function nameDocuments(
  steps: readonly WriteStep[],
  { endings }: SqlDialect['hold'],
): readonly NamedDocuments[] {
  const lastLook = steps.findLastIndex(isLook)
  const named = new Map<string, Map<string, LockUse>>()
  let needsHolding = false
  for (const [place, step] of steps.entries()) {
    const isLookedBehind = place < lastLook
    const [use, ids] = useOf(step, isLookedBehind)
    if (ids.length === 0 || endings[use] === undefined) continue
    needsHolding ||= 'require' in step || ('replace' in step && isLookedBehind)
    const uses = named.get(step.in) ?? new Map<string, LockUse>()
    for (const id of ids) uses.set(id, strongerOf(uses.get(id) ?? use, use))
    named.set(step.in, uses)
  }
  const count = [...named.values()].reduce((sum, { size }) => sum + size, 0)
  if (count < 2 && !needsHolding) return []
  return [...named]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([collection, uses]) => partsOf(collection, uses, (use) => endings[use]))
}

/** Whether the result of a step depends on documents that it does not name. */
const isLook = (step: WriteStep): boolean =>
  'refuse' in step || ('remove' in step && pinnedIds(step.remove) === undefined)

/** How a step uses the documents that it names. */
function useOf(step: WriteStep, isLookedBehind: boolean): readonly [LockUse, readonly string[]] {
  if ('require' in step) {
    const isBare = step.version === undefined && step.where === undefined
    return [isBare ? 'require' : 'require state', [step.require]]
  }
  // A search after this step must also exclude writes that only require the document.
  if ('replace' in step) return [isLookedBehind ? 'remove' : 'replace', [step.replace._id]]
  return ['remove', ('remove' in step && pinnedIds(step.remove)) || []]
}

const strongerOf = (a: LockUse, b: LockUse): LockUse => (USES.indexOf(a) > USES.indexOf(b) ? a : b)

/** Neighbours with the same lock are locked together. */
function partsOf(
  collection: string,
  uses: ReadonlyMap<string, LockUse>,
  endingOf: (use: LockUse) => string | undefined,
): readonly NamedDocuments[] {
  const parts: { ids: string[]; use: LockUse }[] = []
  for (const [id, use] of [...uses].sort(([a], [b]) => compare(a, b))) {
    const last = parts.at(-1)
    if (last && (parts.length > MOST_PARTS || endingOf(last.use) === endingOf(use))) {
      last.ids.push(id)
      last.use = strongerOf(last.use, use)
    } else parts.push({ ids: [id], use })
  }
  return parts.map(({ ids, use }) => ({ collection, ids, use }))
}
