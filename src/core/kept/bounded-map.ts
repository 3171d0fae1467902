import type { Cache } from './caches.js'

/** A cache of limited size that evicts the least recently used entries. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined
  /** `size`: the part of the cache that the entry takes. Default: 1. */
  set(key: K, value: V, size?: number): void
  /** The sum of the sizes of its entries. */
  size(): number
}

/** Creates a cache. `most` limits the sum of the sizes of its entries. `onEvicted` receives each evicted value. */
export function createBoundedMap<K, V>(
  cache: Cache,
  most: number,
  onEvicted: (value: V) => void = () => {},
): BoundedMap<K, V> {
  const entries = new Map<K, { readonly value: V; readonly size: number }>()
  let taken = 0
  let newest: K | undefined
  return {
    get(key) {
      if (!cache.isOn) return undefined
      const entry = entries.get(key)
      if (entry && key !== newest) {
        // A map keeps the order of insertion: an entry that is removed and inserted again is the newest.
        entries.delete(key)
        entries.set(key, entry)
        newest = key
      }
      return entry?.value
    },
    set(key, value, size = 1) {
      if (!cache.isOn) return
      taken += size - (entries.get(key)?.size ?? 0)
      entries.delete(key)
      entries.set(key, { value, size })
      newest = key
      for (const [oldest, forgotten] of entries) {
        if (taken <= most) break
        entries.delete(oldest)
        taken -= forgotten.size
        onEvicted(forgotten.value)
      }
    },
    size: () => taken,
  }
}
