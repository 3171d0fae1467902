import { ServiceError } from '../../../errors.js'
import { unavailable } from '../faults.js'

/** A share of a resource that work takes in turn. */
export interface Lane {
  /** Waits for a place. Rejects where too many wait already, or when the signal aborts. */
  enter(signal: AbortSignal | undefined): Promise<void>
  /** Gives the place back. */
  leave(): void
}

/** The most requests that wait for a connection; the next one is refused at once. */
export const MAX_WAITING = 256

/** The error of a request that cannot wait. */
export const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many requests wait for the database.')

/** Creates a lane with a number of places; those who wait get them in order. */
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
