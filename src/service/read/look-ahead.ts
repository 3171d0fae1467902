/** A sequence whose next values can be seen before they are taken. */
export interface LookAhead<T> {
  /** The next value; `undefined` at the end. */
  take(): T | undefined
  /** What will be taken, in order. What is looked at is held. */
  ahead(): Iterable<T>
}

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
      // What was taken is let go of, now and then.
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
