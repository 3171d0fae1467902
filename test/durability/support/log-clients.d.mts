import type { CollectionPlan, StorageAdapter } from '../../../src/index.js'

/** A change of a document: its `_id`, the write that made it as it was, and the one that made it as it is. */
export type ToldChange = readonly [id: string, before: string | null, after: string | null]

export const plans: readonly CollectionPlan[]

export function follow(
  adapter: StorageAdapter,
  start: string,
  isOver: () => boolean,
): Promise<readonly ToldChange[]>
