import { type ErrorCode, ServiceError } from '../errors.js'
import type { Deadline, Wait } from '../service/deadline.js'

/** The answer when the time is over, by what the request was waiting for. */
const LATE: { readonly [wait in Wait]: readonly [code: ErrorCode, detail: string] } = {
  body: ['request_timeout', 'The body did not arrive in time.'],
  hash: ['overloaded', 'Too many secrets are waiting to be hashed. Try again in a moment.'],
  host: ['overloaded', 'The caller could not be identified in time.'],
  read: ['storage_unavailable', 'The storage did not answer in time.'],
  write: ['outcome_unknown', 'The storage did not confirm the write in time: it may have happened.'],
}

function late(wait: Wait): ServiceError {
  const [code, detail] = LATE[wait]
  return new ServiceError(code, detail)
}

/**
 * Runs `work` until it settles, `seconds` are over or the client is gone, whichever comes first. Work that
 * ignores the signal of its deadline continues in the background; its result is then given to `discard`.
 */
export function runWithDeadline<T>(
  seconds: number,
  onGone: (listener: () => void) => () => void,
  work: (deadline: Deadline) => Promise<T>,
  discard: (result: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let controller: AbortController | undefined
    let isOver = false
    let current: Wait = 'host'
    let stopListening = (): void => {}
    const deadline: Deadline = {
      enter(wait) {
        if (isOver) throw late(current)
        current = wait
      },
      get signal() {
        controller ??= new AbortController()
        if (isOver) controller.abort()
        return controller.signal
      },
    }
    const giveUp = (): void => {
      isOver = true
      reject(late(current))
      controller?.abort()
      finish()
    }
    const finish = (): void => {
      clearTimeout(timer)
      stopListening()
    }
    const timer = setTimeout(giveUp, seconds * 1000)
    stopListening = onGone(giveUp)
    if (isOver) return finish()
    work(deadline).then(
      (result) => {
        if (isOver) discard(result)
        resolve(result)
        finish()
      },
      (thrown: unknown) => {
        reject(thrown)
        finish()
      },
    )
  })
}
