import { signal } from '@preact/signals'
import type { Sent } from '../model/requests/request-lines.js'

/** A request of the admin UI, and its result. */
export interface Entry {
  readonly id: number
  readonly sent: Sent
  /** `null` until there is an answer; 0 if none arrived. */
  readonly status: number | null
  readonly milliseconds: number
  readonly at: Date
  /** The reason of a background request, else empty. */
  readonly note: string
  /** Whether it is a dry run: then a 412 or 404 means that the operation is allowed. */
  readonly isQuestion: boolean
}

/** The most requests in the log. */
const MOST = 100

/** The last requests, newest first. */
export const requests = signal<readonly Entry[]>([])

let next = 1

/** Logs a request; the returned function logs its answer. */
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
