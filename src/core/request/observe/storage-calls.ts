import { isServiceError } from '../../errors.js'
import type { StorageCall } from '../../types/host.js'

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
