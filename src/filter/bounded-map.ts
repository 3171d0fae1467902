/** A cache of at most `size` entries that forgets the one used longest ago. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
}

export function createBoundedMap<K, V>(size: number): BoundedMap<K, V> {
  const entries = new Map<K, V>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value !== undefined) {
        // A map keeps the order of insertion: what is put back counts as new.
        entries.delete(key)
        entries.set(key, value)
      }
      return value
    },
    set(key, value) {
      entries.delete(key)
      if (entries.size >= size) for (const oldest of entries.keys()) if (entries.delete(oldest)) break
      entries.set(key, value)
    },
  }
}
