import type { ServiceOptions } from '../../src/core/types.js'

const faults: string[] = []

/** How many answers were held against a description in this process. */
export const judged = { answers: 0 }

/** Notes that an answer is not as described: the test that runs fails, when it ends at the latest. */
export const noteFault = (fault: string): void => void faults.push(fault.slice(0, MAX_FAULT))

/** The characters of a fault that are kept. */
const MAX_FAULT = 1000

/** What was noted since the last time. */
export const takeFaults = (): readonly string[] => faults.splice(0)

const [ofOthers, unjudged] = [new WeakSet<object>(), new WeakSet<object>()]

/**
 * The same options, for a service whose storage holds, or throws, what the service itself would not have stored: then
 * no description fits the bodies of documents and of failures. All else is as described.
 */
export function holdOthers<T extends object>(options: T): T {
  ofOthers.add(options)
  return options
}

/** Whether a service with these options shows documents of others. */
export const holdsOthers = (options: ServiceOptions): boolean => ofOthers.has(options)

/** The same options, for a service whose every step is counted: nothing is to come between. */
export function leaveUnjudged<T extends object>(options: T): T {
  unjudged.add(options)
  return options
}

/** Whether nothing is to come between a service with these options and its test. */
export const isUnjudged = (options: ServiceOptions): boolean => unjudged.has(options)
