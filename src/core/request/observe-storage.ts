import { isServiceError } from '../errors.js'
import { isPromise } from '../promises.js'
import type { StorageAdapter, WriteStep } from '../storage.js'
import type { StorageCall } from '../types/host.js'

/** The maximum number of storage calls that are recorded per request (CONTRACT.md §8, "Observe"). */
const MOST_CALLS = 100

/** A recorded call. `milliseconds` is `undefined` until the call has ended. */
type OpenCall = { -readonly [Key in keyof Omit<StorageCall, 'milliseconds'>]: StorageCall[Key] } & {
  milliseconds: number | undefined
}

/** Returns the milliseconds since 1970, from a clock that never goes back. */
export const readClock = (): number => performance.timeOrigin + performance.now()

/** Records the storage calls of one request. */
export class StorageCalls {
  readonly #calls: OpenCall[] = []

  /** The recorded calls. For a call that has not ended yet, `milliseconds` is the time since its start. */
  get all(): readonly StorageCall[] {
    const now = readClock()
    return this.#calls.map((call) => ({ ...call, milliseconds: call.milliseconds ?? now - call.startedAt }))
  }

  /** Records the start of a call; the returned function records its end, with the error if it failed. */
  begin(call: Pick<StorageCall, 'system' | 'operation' | 'collection'>): (...thrown: unknown[]) => void {
    if (this.#calls.length === MOST_CALLS) return () => {}
    const open: OpenCall = { ...call, startedAt: readClock(), milliseconds: undefined }
    this.#calls.push(open)
    return (...thrown) => {
      open.milliseconds ??= readClock() - open.startedAt
      if (thrown.length > 0) open.error = isServiceError(thrown[0]) ? thrown[0].code : 'internal_error'
    }
  }
}

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
  const { aggregate, readLinked, listTogether } = adapter
  if (aggregate)
    observed.aggregate = (collection, query) =>
      note('aggregate', collection, () => aggregate(collection, query))
  if (readLinked)
    observed.readLinked = (linked, options) => note('list', linked.in, () => readLinked(linked, options))
  if (listTogether)
    observed.listTogether = (lists, options) =>
      note('list', lists[0]?.in ?? '', () => listTogether(lists, options))
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
