import { isServiceError } from '../../errors.js'
import type { StorageCall } from '../../types/host.js'

/** The most storage calls that are recorded per request (CONTRACT.md §8, "Observe"). */
const MOST_CALLS = 100

/** A call that may not have ended. */
type OpenCall = { -readonly [Key in keyof Omit<StorageCall, 'milliseconds'>]: StorageCall[Key] } & {
  milliseconds: number | undefined
}

/** Milliseconds since 1970, by a clock that does not go back. */
export const readClock = (): number => performance.timeOrigin + performance.now()

/** Records the storage calls of one request. */
export class StorageCalls {
  readonly #calls: OpenCall[] = []

  /** The recorded calls; the duration of a call that has not ended is its duration so far. */
  get all(): readonly StorageCall[] {
    const now = readClock()
    return this.#calls.map((call) => ({ ...call, milliseconds: call.milliseconds ?? now - call.startedAt }))
  }

  /** Records a call; the returned function ends it, with the error if it failed. */
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
