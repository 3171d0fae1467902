import type { Slice, Sliced } from '../../slices.js'

/** Items that are sorted at once. */
const RUN = 256

/** Steps of a slice that sorting takes for each item and each round. */
const COMPARISON = 6

/** Sorts, and pauses wherever the slice is used up. */
export function* sortInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  slice: Slice,
): Sliced<readonly T[]> {
  let runs: (readonly T[])[] = []
  for (let i = 0; i < items.length; i += RUN) {
    if (slice.left <= 0) yield
    slice.left -= RUN * COMPARISON * 4
    runs.push(items.slice(i, i + RUN).sort(compare))
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (let i = 0; i < runs.length; i += 2)
      merged.push(yield* merge(runs[i] ?? [], runs[i + 1] ?? [], compare, slice))
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
  slice: Slice,
): Sliced<readonly T[]> {
  if (b.length === 0) return a
  const merged: T[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (slice.left <= 0) yield
    slice.left -= COMPARISON
    const isFirst = j >= b.length || (i < a.length && compare(a[i] as T, b[j] as T) <= 0)
    merged.push((isFirst ? a[i++] : b[j++]) as T)
  }
  return merged
}
