import { type ErrorCode, isServiceError, ServiceError } from '../errors.js'
import type { QueueCaller } from '../fair-queue.js'

/** The operation that a request is waiting for. It determines the error response after a timeout. */
type Wait = 'body' | 'deliver' | 'describe' | 'hash' | 'hook' | 'host' | 'read' | 'turn' | 'write'

/** The deadline of work. */
export interface Deadline {
  /**
   * The signal aborts on timeout or when the client disconnects. A write only observes a disconnect while the request
   * body arrives. The signal is created when first needed.
   */
  readonly signal: AbortSignal
  /**
   * The caller for whom the work is done, for queues that serve callers in turn (CONTRACT.md §6, "Scheduling"): a
   * string, or a function that returns it. Work without a caller counts as work of one common caller.
   */
  readonly caller?: QueueCaller | undefined
  /**
   * Whether the signal never aborts. The storage then gets no signal, so it knows that the service never aborts its
   * operations.
   */
  readonly isUnhurried?: boolean
  /**
   * Calls `listener` when the signal aborts, or would abort if it existed; returns a function that removes the
   * listener. This is cheaper than creating the signal.
   */
  onOver(listener: () => void): () => void
  /** Called before each wait. Throws if the time is over, so that abandoned work does not continue. */
  enter(wait: Wait): void
}

/** The deadline of work that no client waits for. */
export const UNHURRIED: Deadline = {
  // The signal is created when it is read, because some runtimes forbid creating one while a module loads.
  get signal() {
    return new AbortController().signal
  },
  isUnhurried: true,
  onOver: () => () => {},
  enter() {},
}

/** The name of the work of a start in queues that serve callers in turn. No caller has this name. */
export const START = 'start'

/** The deadline of the work of a start for which `ready` waits. */
export const AT_START: Deadline = {
  get signal() {
    return UNHURRIED.signal
  },
  caller: START,
  isUnhurried: true,
  onOver: UNHURRIED.onOver,
  enter() {},
}

/** The error after the deadline, by the operation that the request was waiting for. */
const LATE: { readonly [wait in Wait]: readonly [code: ErrorCode, detail: string] } = {
  body: ['request_timeout', 'The body did not arrive in time.'],
  deliver: ['internal_error', 'options.deliver did not finish in time.'],
  describe: ['overloaded', 'The OpenAPI document of this service could not be created in time.'],
  hash: ['overloaded', 'Too many secrets are waiting to be hashed. Try again in a moment.'],
  hook: ['internal_error', 'A hook of the host did not finish in time.'],
  host: ['overloaded', 'The caller could not be identified in time.'],
  read: ['storage_unavailable', 'The storage did not answer in time.'],
  turn: ['overloaded', 'Too many concurrent writes. Try again.'],
  write: ['outcome_unknown', 'The storage did not confirm the write in time. It may have taken effect.'],
}

function late(wait: Wait): ServiceError {
  const [code, detail] = LATE[wait]
  return new ServiceError(code, detail)
}

/** The deadline of one request. A request first waits for the host. */
export class RequestDeadline implements Deadline {
  caller: QueueCaller | undefined
  #wait: Wait = 'host'
  #isOver = false
  #controller: AbortController | undefined
  #listeners: readonly (() => void)[] = []

  get isOver(): boolean {
    return this.#isOver
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isOver) this.#controller.abort()
    return this.#controller.signal
  }

  onOver(listener: () => void): () => void {
    if (this.#isOver) listener()
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener)
    }
  }

  enter(wait: Wait): void {
    if (this.#isOver) throw late(this.#wait)
    this.#wait = wait
  }

  /** Ends the request's time; returns the error for the response. */
  end(): ServiceError {
    this.#isOver = true
    const error = late(this.#wait)
    this.#controller?.abort()
    for (const listener of this.#listeners) listener()
    return error
  }
}

/** The limits of work that runs with a deadline. */
export interface Limit<T> {
  readonly seconds: number
  /** Calls `listener` when the client disconnects; returns a function that stops listening. */
  readonly onGone: (listener: () => void) => () => void
  /** Called when the work settles, even after the deadline. */
  readonly onSettled: () => void
  /** Called with a result that comes after the deadline. */
  readonly discard: (result: T) => void
}

/**
 * Waits for the result of work until it settles, its time is over or the client disconnects, whichever comes first.
 * The time begins now: work that never waits needs no timer. Work that ignores the signal of its deadline continues in
 * the background.
 */
export function waitUntilLate<T>(
  result: Promise<T>,
  deadline: RequestDeadline,
  { seconds, onGone, onSettled, discard }: Limit<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let stopListening = (): void => {}
    const finish = (): void => {
      clearTimeout(timer)
      stopListening()
    }
    let error: ServiceError | undefined
    const giveUp = (): void => {
      error ??= deadline.end()
      finish()
      // The rejection is delayed, because storage that reacts to the signal can still confirm that nothing was
      // written.
      if (error.code === 'outcome_unknown') later(reject, 0, error)
      else reject(error)
    }
    const timer = setTimeout(giveUp, seconds * 1000)
    result.then(
      (value) => {
        onSettled()
        if (deadline.isOver) discard(value)
        if (!error) resolve(value)
        finish()
      },
      (thrown: unknown) => {
        onSettled()
        reject(error && !isServiceError(thrown) ? error : thrown)
        finish()
      },
    )
    stopListening = onGone(giveUp)
    if (deadline.isOver) finish()
  })
}

// Read at load time, so that a fake clock in a test does not stop this timer.
const later = setTimeout
