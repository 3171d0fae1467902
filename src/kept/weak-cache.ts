import type { Cache } from './caches.js'

/** A cache whose entries live as long as their keys. */
export interface WeakCache<K extends object, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
}

/** Creates a cache by objects. */
export function createWeakCache<K extends object, V>(cache: Cache): WeakCache<K, V> {
  const entries = new WeakMap<K, V>()
  return {
    get: (key) => (cache.isOn ? entries.get(key) : undefined),
    set(key, value) {
      if (cache.isOn) entries.set(key, value)
    },
  }
}
