import { afterAll, beforeAll } from 'vitest'
import { CACHES } from '../../src/core/kept/caches.js'

const all = Object.values(CACHES)

/** Switches all caches on or off; returns what brings back the state before. */
export function switchCaches(isOn: boolean): () => void {
  const before = all.map((cache) => cache.isOn)
  for (const cache of all) cache.isOn = isOn
  return () => {
    for (const [i, cache] of all.entries()) cache.isOn = before[i] ?? true
  }
}

/** Runs something without any cache. Nothing else may run at the same time. */
export async function withoutCaches<T>(run: () => Promise<T>): Promise<T> {
  const restore = switchCaches(false)
  try {
    return await run()
  } finally {
    restore()
  }
}

/** For files that test caches themselves: these are on, though all others run without. */
export function useCaches(): void {
  let restore = (): void => {}
  beforeAll(() => {
    restore = switchCaches(true)
  })
  afterAll(() => restore())
}
