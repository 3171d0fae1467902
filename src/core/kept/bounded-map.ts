import type { Cache } from './caches.js'

/** A cache of limited size that evicts the least recently used entries. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  /** The sum of the sizes of its entries. */
  size(): number
}

/** Creates a cache of at most `size` entries. With `sizeOf`, `size` limits the sum of the sizes of all entries. */
export function createBoundedMap<K, V>(
  cache: Cache,
  size: number,
  sizeOf: (value: V) => number = () => 1,
): BoundedMap<K, V> {
  const entries = new Map<K, V>()
  let taken = 0
  let newest: K | undefined
  const forget = (key: K, value: V): void => {
    entries.delete(key)
    taken -= sizeOf(value)
  }
  return {
    get(key) {
      if (!cache.isOn) return undefined
      const value = entries.get(key)
      if (value !== undefined && key !== newest) {
        // A map keeps the order of insertion: an entry that is removed and inserted again is the newest.
        entries.delete(key)
        entries.set(key, value)
        newest = key
      }
      return value
    },
    set(key, value) {
      if (!cache.isOn) return
      const known = entries.get(key)
      if (known !== undefined) forget(key, known)
      entries.set(key, value)
      newest = key
      taken += sizeOf(value)
      for (const [oldest, forgotten] of entries) {
        if (taken <= size) break
        forget(oldest, forgotten)
      }
    },
    size: () => taken,
  }
}
