/** A sequence whose next values can be seen before they are taken. */
export interface LookAhead<T> {
  /** The next value; `undefined` at the end. */
  take(): T | undefined
  /** The next values, in order. The sequence buffers the values that were seen. */
  ahead(): Iterable<T>
}

/** Creates a look-ahead of an iterator. */
export function createLookAhead<T>(source: Iterator<T>): LookAhead<T> {
  let seen: T[] = []
  let taken = 0
  const see = (): boolean => {
    const { done, value } = source.next()
    if (!done) seen.push(value)
    return !done
  }
  return {
    take() {
      // Drops taken values occasionally, not each time.
      if (taken > seen.length / 2) {
        seen = seen.slice(taken)
        taken = 0
      }
      if (taken === seen.length && !see()) return undefined
      taken += 1
      return seen[taken - 1]
    },
    *ahead() {
      for (let i = taken; i < seen.length || see(); i++) yield seen[i] as T
    },
  }
}
