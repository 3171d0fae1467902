import type { ServiceError } from '../../../core/errors.js'
import { isUnhurried, type WorkCaller } from './connections.js'

/** A caller of a shared statement. */
export interface SharingCaller {
  readonly caller: WorkCaller
  readonly reject: (thrown: unknown) => void
}

/** Creates the error for a caller that stops waiting. `isSent`: whether the statement may have been sent. */
export type Leaving = (cause: unknown, isSent: boolean) => ServiceError

/**
 * A statement that several callers share. It is aborted when no caller waits any more, or when it is abandoned. It is a
 * class because V8 would keep an object literal with a getter, including its members, until a major garbage collection.
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

  /** True if at least one member has no signal that will end its wait. */
  get isUnhurried(): boolean {
    return this.#members.some(({ caller }) => isUnhurried(caller))
  }

  /** Begins to listen to the signals of all members. A member whose signal aborts is rejected. */
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

  /** Whether the statement was abandoned while callers waited. */
  get isAbandoned(): boolean {
    return this.#isDisbanded
  }

  abandon(): void {
    this.#isDisbanded = true
    void this.signal
  }

  hasLeft(member: SharingCaller): boolean {
    return this.#gone.has(member)
  }

  end(): void {
    for (const [signal, leave] of this.#listening) signal.removeEventListener('abort', leave)
  }
}
