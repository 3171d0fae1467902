import { createMemoryAdapter, type StorageAdapter, type StoredDocument } from '../../src/index.js'
import { isOfStart } from './stored.js'

/** An adapter over another that hands out no more than it is asked for, and counts what it does. */
export interface CuttingAdapter extends StorageAdapter {
  /** Bytes of documents handed out so far. */
  handedOut: number
  /** The most of them in one answer. */
  most: number
  /** The collections that it was asked for documents of. */
  readonly asked: string[]
  /** Runs before each list. */
  before: (collection: string) => void | Promise<void>
}

const sizeOf = (document: StoredDocument): number => JSON.stringify(document).length

/** Does as an adapter must that brings documents into memory: beyond `bytes` it gives ids alone. */
export function createCuttingAdapter(inner: StorageAdapter = createMemoryAdapter()): CuttingAdapter {
  const { stream: _, ...others } = inner
  const adapter: CuttingAdapter = {
    ...others,
    handedOut: 0,
    most: 0,
    asked: [],
    before: () => {},
    async list(collection, query) {
      if (isOfStart(query)) return inner.list(collection, query)
      adapter.asked.push(collection)
      await adapter.before(collection)
      const all = await inner.list(collection, query)
      const { bytes = Number.POSITIVE_INFINITY } = query
      let size = 0
      let count = 0
      for (const document of all) {
        const own = sizeOf(document)
        if (count > 0 && size + own > bytes) break
        size += own
        count += 1
      }
      adapter.handedOut += size
      adapter.most = Math.max(adapter.most, size)
      const rest = all.slice(count).map(({ _id }) => _id)
      return Object.assign(all.slice(0, count), rest.length > 0 ? { rest } : {})
    },
  }
  return adapter
}
