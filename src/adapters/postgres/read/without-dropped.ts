import type { StorageAdapter } from '../../../core/storage.js'
import { isUndefined } from '../faults.js'

/** The calls whose statements use tables of elements. */
export type Calls = Required<Pick<StorageAdapter, 'list' | 'stream' | 'count' | 'write' | 'readLinked'>>

/**
 * Retries calls that fail because a table of elements was dropped. Another service drops such a table if it needs
 * longer strings than the table can contain. `forget` stops reads from using tables of elements. It returns false if
 * they used none.
 */
export function withoutDropped(calls: Calls, forget: () => boolean): Calls {
  const again = async <T>(call: () => T | Promise<T>): Promise<T> => {
    try {
      return await call()
    } catch (thrown) {
      if (!isUndefined(thrown) || !forget()) throw thrown
    }
    return call()
  }
  return {
    list: (collection, query) => again(() => calls.list(collection, query)),
    count: (collection, filter, options) => again(() => calls.count(collection, filter, options)),
    write: (steps, options) => again(() => calls.write(steps, options)),
    readLinked: (linked, options) => again(() => calls.readLinked(linked, options)),
    async *stream(collection, query) {
      let hasBegun = false
      try {
        for await (const some of calls.stream(collection, query)) {
          hasBegun = true
          yield some
        }
      } catch (thrown) {
        if (hasBegun || !isUndefined(thrown) || !forget()) throw thrown
        yield* calls.stream(collection, query)
      }
    },
  }
}
