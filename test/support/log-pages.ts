import type { StorageAdapter } from '../../src/index.js'

/** A storage that gives few changes of its log at once. */
export function inPages(inner: StorageAdapter, most: number): StorageAdapter {
  const { changes } = inner
  if (!changes) throw new Error('this storage keeps no log')
  return {
    ...inner,
    changes: (after, query) => changes.call(inner, after, { ...query, limit: Math.min(query.limit, most) }),
  }
}
