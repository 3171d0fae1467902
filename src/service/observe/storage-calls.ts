import { isServiceError } from '../../errors.js'
import type { StorageCall } from '../../types/host.js'

/** The most calls of the storage that are noted of a request (CONTRACT.md §8, "Observe"). */
const MOST_CALLS = 100

/** A call that may not have ended. */
type OpenCall = { -readonly [Key in keyof Omit<StorageCall, 'milliseconds'>]: StorageCall[Key] } & {
  milliseconds: number | undefined
}

/** Milliseconds since 1970, by a clock that does not go back. */
export const readClock = (): number => performance.timeOrigin + performance.now()

/** Notes which calls of the storage one request makes. */
export class StorageCalls {
  readonly #calls: OpenCall[] = []

  /** Those that were noted; one that has not ended took as long as it is there. */
  get all(): readonly StorageCall[] {
    const now = readClock()
    return this.#calls.map((call) => ({ ...call, milliseconds: call.milliseconds ?? now - call.startedAt }))
  }

  /** Notes a call, and when it ends; the result is called with the error where it fails. */
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
