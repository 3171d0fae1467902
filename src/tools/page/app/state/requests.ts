import { signal } from '@preact/signals'
import type { Sent } from '../model/requests/request-lines.js'

/** A request of the admin UI, and its result. */
export interface Entry {
  readonly id: number
  readonly sent: Sent
  /** The status of the answer; `null` until it arrives, 0 if none arrived. */
  readonly status: number | null
  readonly milliseconds: number
  readonly at: Date
  /** The reason for a background request; empty for a request that a person caused. */
  readonly note: string
  /** Whether the request is a dry run, for which 412 and 404 mean that the operation is allowed. */
  readonly isQuestion: boolean
}

/** The maximum number of requests in the log. */
const MOST = 100

/** The log: the last requests, newest first. */
export const requests = signal<readonly Entry[]>([])

let next = 1

/** Logs a request, and returns the function that logs the status of its answer. */
export function note(sent: Sent, why = '', isQuestion = false): (status: number) => void {
  const id = next++
  const start = performance.now()
  const entry: Entry = { id, sent, status: null, milliseconds: 0, at: new Date(), note: why, isQuestion }
  requests.value = [entry, ...requests.peek()].slice(0, MOST)
  return (status) => {
    const milliseconds = Math.round(performance.now() - start)
    requests.value = requests.peek().map((one) => (one.id === id ? { ...one, status, milliseconds } : one))
  }
}
