/** The elements by a key, in their order. */
export function groupBy<T>(
  elements: readonly T[],
  keyOf: (element: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const element of elements) {
    const key = keyOf(element)
    const group = groups.get(key)
    if (group) group.push(element)
    else groups.set(key, [element])
  }
  return groups
}
