/**
 * Returns the first index from `from` to `end` for which `isBefore` is false, or `end` if there is none. All indexes for
 * which it is true come first, so a binary search finds it.
 */
export function findPlace(from: number, end: number, isBefore: (place: number) => boolean): number {
  let low = from
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
