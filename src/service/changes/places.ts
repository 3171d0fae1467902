import { ServiceError } from '../../errors.js'

/** The stream places of subscribers in one process. */
export interface Places {
  /** The number of taken places. */
  readonly taken: number
  /**
   * Takes a place for its holders, such as a caller and an address; the returned function releases it. Throws
   * `overloaded` if all are taken, or if one of the holders has a tenth of all (CONTRACT.md §9, "Bounds of streams").
   */
  take(holders: readonly string[]): () => void
}

/** Creates `most` places. */
export function createPlaces(most: number): Places {
  const share = Math.max(1, Math.floor(most / 10))
  const held = new Map<string, number>()
  const add = (holders: readonly string[], count: number): void => {
    for (const holder of holders) {
      const now = (held.get(holder) ?? 0) + count
      if (now === 0) held.delete(holder)
      else held.set(holder, now)
    }
  }
  let taken = 0
  return {
    get taken() {
      return taken
    },
    take(holders) {
      if (taken >= most || holders.some((holder) => (held.get(holder) ?? 0) >= share))
        throw new ServiceError('overloaded', 'Too many streams are open. Try again in a moment.')
      taken += 1
      add(holders, 1)
      let isBack = false
      return () => {
        if (isBack) return
        isBack = true
        taken -= 1
        add(holders, -1)
      }
    },
  }
}
