import { isPromise } from '../../promises.js'
import type { StorageAdapter, WriteStep } from '../../storage.js'
import type { StorageCall } from '../../types/host.js'
import type { StorageCalls } from './storage-calls.js'

/** Returns an adapter that calls `adapter` and records each call in `calls`. */
export function observeStorage(adapter: StorageAdapter, calls: StorageCalls): StorageAdapter {
  const { system = 'other' } = adapter
  const note = <T>(operation: StorageCall['operation'], collection: string, work: () => T): T => {
    const end = calls.begin({ system, operation, collection })
    try {
      const result = work()
      if (isPromise(result)) result.then(() => end(), end)
      else end()
      return result
    } catch (thrown) {
      end(thrown)
      throw thrown
    }
  }
  const observed: StorageAdapter = {
    open: (plans) => adapter.open(plans),
    close: () => adapter.close(),
    list: (collection, query) => note('list', collection, () => adapter.list(collection, query)),
    count: (collection, filter, options) =>
      note('count', collection, () => adapter.count(collection, filter, options)),
    ...(adapter.state ? { state: (collections) => adapter.state?.(collections) } : {}),
    write: (steps, options) => note('write', collectionOf(steps), () => adapter.write(steps, options)),
  }
  const { readLinked } = adapter
  if (readLinked)
    observed.readLinked = (linked, options) => note('list', linked.in, () => readLinked(linked, options))
  if (!adapter.stream) return observed
  return {
    ...observed,
    async *stream(collection, query) {
      const end = calls.begin({ system, operation: 'stream', collection })
      try {
        if (adapter.stream) yield* adapter.stream(collection, query)
      } catch (thrown) {
        end(thrown)
        throw thrown
      } finally {
        end()
      }
    },
  }
}

const collectionOf = ([step]: readonly WriteStep[]): string => step?.in ?? ''
