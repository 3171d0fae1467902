import { signal } from '@preact/signals'
import type { Sent } from '../model/requests/request-lines.js'

/** A request of this page, and what came of it. */
export interface Entry {
  readonly id: number
  readonly sent: Sent
  /** `null` until there is an answer; 0 where there was none. */
  readonly status: number | null
  readonly milliseconds: number
  readonly at: Date
  /** Why the page asked, where that is not plain from the request. */
  readonly note: string
  /** Whether it only asks if something would be allowed: then a refusal of its own making means yes. */
  readonly isQuestion: boolean
}

/** The most requests that are kept. */
const MOST = 100

/** The last requests, newest first. */
export const requests = signal<readonly Entry[]>([])

let next = 1

/** Notes a request; the result notes its answer. */
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
