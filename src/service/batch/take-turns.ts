import { nothing } from '../../filter/filter.js'
import type { WriteStep } from '../../storage.js'
import type { PendingWrites } from './pending-writes.js'

/**
 * Serializes two batches that each list what the other writes, in the collections of `turnsIn`: a batch cannot require
 * that a document which does not exist yet stays absent.
 */
export function takeTurns(
  lists: readonly WriteStep[],
  turnsIn: ReadonlySet<string>,
  pending: Pick<PendingWrites, 'hasTouched'>,
): readonly WriteStep[] {
  const listed = new Set(lists.map((step) => step.in).filter((name) => turnsIn.has(name)))
  if (listed.size === 0) return []
  return [...turnsIn].flatMap((name): readonly WriteStep[] => {
    const turn = pending.hasTouched(name) ? 'alone' : 'shared'
    return turn === 'alone' || listed.has(name) ? [{ in: name, refuse: nothing, turn }] : []
  })
}
