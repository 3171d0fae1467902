import { createMemoryStorage } from '../../src/adapters/memory/memory-adapter.js'
import { createRows, type Rows, type SortedIndex } from '../../src/adapters/memory/rows.js'
import type { StorageAdapter } from '../../src/index.js'

/** A storage that tells how many rows some work has looked at. */
export interface CountedStorage {
  readonly adapter: StorageAdapter
  countRows(work: () => Promise<unknown>): Promise<number>
  /** Closes what the adapter leaves open. */
  end?(): Promise<void>
}

/** The same object with other members. Its own methods still run on the object itself, which has private fields. */
const override = <T extends object>(base: T, members: Partial<T>): T =>
  new Proxy(base, {
    get(target, name) {
      const found: unknown = Reflect.get(name in members ? members : target, name)
      return typeof found === 'function' && !(name in members) ? found.bind(target) : found
    },
  })

/** An adapter in memory that counts the documents that indexes give, and those that are found by their ids. */
export function createCountedMemory(): CountedStorage {
  let rows = 0
  const counted = new WeakMap<SortedIndex, SortedIndex>()
  const count = (index: SortedIndex): SortedIndex => {
    const { documents } = index
    return override(index, {
      documents: override(documents, {
        read(range) {
          const next = documents.read(range)
          return () => {
            const document = next()
            if (document) rows += 1
            return document
          }
        },
      }),
      copyDocuments() {
        const all = index.copyDocuments()
        rows += all.length
        return all
      },
    })
  }
  const countedOnce = (index: SortedIndex): SortedIndex => {
    const known = counted.get(index) ?? count(index)
    counted.set(index, known)
    return known
  }
  const makeRows: typeof createRows = (database, name) => {
    const held: Rows = createRows(database, name)
    return override(held, {
      get sorted() {
        return held.sorted.map(countedOnce)
      },
      get(id) {
        rows += 1
        return held.get(id)
      },
    })
  }
  return {
    adapter: createMemoryStorage({}, makeRows),
    async countRows(work) {
      const before = rows
      await work()
      return rows - before
    },
  }
}
