import { ServiceError } from '../../../errors.js'
import { unavailable } from '../faults.js'

/** A share of something that work takes in turn. */
export interface Lane {
  /** Waits for a place. Rejects where too many wait already, or when the signal aborts. */
  enter(signal: AbortSignal | undefined): Promise<void>
  /** Gives a place back. */
  leave(): void
}

/** Requests that wait for a connection at most; one more is told at once that it is too many. */
export const MAX_WAITING = 256

export const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many requests wait for the database.')

/** A lane with a number of places; who waits gets them in order. */
export function createLane(places: number): Lane {
  let free = places
  const waiting = new Set<() => void>()
  return {
    async enter(signal) {
      if (free > 0) {
        free -= 1
        return
      }
      if (waiting.size >= MAX_WAITING) throw overloaded()
      await new Promise<void>((resolve, reject) => {
        const go = (): void => {
          signal?.removeEventListener('abort', giveUp)
          resolve()
        }
        const giveUp = (): void => {
          waiting.delete(go)
          reject(unavailable(signal?.reason))
        }
        waiting.add(go)
        if (signal?.aborted) giveUp()
        else signal?.addEventListener('abort', giveUp, { once: true })
      })
    },
    leave() {
      const [next] = waiting
      if (!next) free += 1
      else {
        waiting.delete(next)
        next()
      }
    },
  }
}
