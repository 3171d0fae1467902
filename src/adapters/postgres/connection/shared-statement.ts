import type { ServiceError } from '../../../errors.js'
import { isUnhurried, type WorkCaller } from './connections.js'

/** A caller for whom a shared statement is run. */
export interface SharingCaller {
  readonly caller: WorkCaller
  readonly reject: (thrown: unknown) => void
}

/** The error for one who leaves; `isSent`: whether the statement may have been sent. */
export type Leaving = (cause: unknown, isSent: boolean) => ServiceError

/**
 * Those for whom one statement is run: it is given up when the last of them has left, or it is abandoned. A class: engines
 * keep an object with a getter of its own, and with it the members, until they clean up everything.
 */
export class SharedStatement implements WorkCaller {
  readonly #members: readonly SharingCaller[]
  readonly #leaving: Leaving
  readonly #listening: (readonly [signal: AbortSignal, leave: () => void])[] = []
  readonly #gone = new Set<SharingCaller>()
  #controller: AbortController | undefined
  #isDisbanded = false
  /** Whether the statement may have been sent. */
  isSent = false

  constructor(members: readonly SharingCaller[], leaving: Leaving) {
    this.#members = members
    this.#leaving = leaving
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isDisbanded || this.#gone.size === this.#members.length) this.#controller.abort()
    return this.#controller.signal
  }

  get callers(): readonly (string | undefined)[] {
    return this.#members.map(({ caller }) => caller.caller)
  }

  /** It is enough that one of them has no end of its own. */
  get isUnhurried(): boolean {
    return this.#members.some(({ caller }) => isUnhurried(caller))
  }

  /** Begins to listen to the signals of all. */
  listen(): void {
    for (const member of this.#members) {
      const { signal } = member.caller
      if (!signal) continue
      const leave = (): void => {
        this.#gone.add(member)
        member.reject(this.#leaving(signal.reason, this.isSent))
        void this.signal
      }
      this.#listening.push([signal, leave])
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    }
  }

  /** Whether the statement was given up though somebody still waits. */
  get isAbandoned(): boolean {
    return this.#isDisbanded
  }

  /** Gives the statement up. */
  abandon(): void {
    this.#isDisbanded = true
    void this.signal
  }

  hasLeft(member: SharingCaller): boolean {
    return this.#gone.has(member)
  }

  /** Stops listening. */
  end(): void {
    for (const [signal, leave] of this.#listening) signal.removeEventListener('abort', leave)
  }
}
