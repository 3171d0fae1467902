import { ServiceError } from '../../../src/core/errors.js'
import type { StorageAdapter } from '../../../src/index.js'

/**
 * How a call of the storage ends: `refused`, nothing was done; `unknown before` and `unknown behind`, the
 * outcome is lost, and it was not done, or was; `stopped before` and `stopped behind`, the same, and the process
 * comes to nothing more.
 */
export const FAILURES = [
  ...['refused', 'unknown before', 'unknown behind'],
  ...['stopped before', 'stopped behind'],
] as const
export type Failure = (typeof FAILURES)[number]

/** An adapter over another of which one call fails. */
export interface FailingAdapter extends StorageAdapter {
  /** Lets the call with this number fail, counted from now, from 1. */
  arm(number: number, failure: Failure): void
  /** Whether that call has come. */
  hasFailed(): boolean
  /** Whether the process has come to its end: then it sends nothing out either. */
  isStopped(): boolean
}

export function createFailingAdapter(inner: StorageAdapter): FailingAdapter {
  let left = Number.POSITIVE_INFINITY
  let armed: Failure | undefined
  const hasFailed = (): boolean => left <= 0
  const isStopped = (): boolean => hasFailed() && armed?.startsWith('stopped') === true

  /** A read whose outcome is lost was refused. */
  async function call<T>(isWrite: boolean, work: () => T | Promise<T>): Promise<T> {
    if (isStopped()) throw new ServiceError('storage_unavailable', 'It has stopped.')
    left -= 1
    if (left !== 0) return work()
    if (armed?.endsWith('behind')) await work()
    throw isWrite && armed?.startsWith('unknown')
      ? new ServiceError('outcome_unknown', 'Nobody knows.')
      : new ServiceError('storage_unavailable', 'It is away.')
  }
  return {
    open: (plans) => inner.open(plans),
    list: (collection, query) => call(false, () => inner.list(collection, query)),
    count: (collection, filter, options) => call(false, () => inner.count(collection, filter, options)),
    write: (steps, options) => call(true, () => inner.write(steps, options)),
    close: async () => {},
    arm(number, failure) {
      left = number
      armed = failure
    },
    hasFailed,
    isStopped,
  }
}
