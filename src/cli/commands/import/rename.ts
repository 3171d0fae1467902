/** What names may be. */
export interface Naming {
  readonly isAllowed: (name: string) => boolean
  /** What stands for a name of which nothing is left. */
  readonly fallback: string
}

/** The most characters of a name. */
const LENGTH = 63

/**
 * Names that are allowed and differ from each other by more than letter case, by the names that were found. Those
 * that are allowed as they are stay; the others lose what is not, and get a number where the rest is taken.
 */
export function renameAll(
  names: readonly string[],
  { isAllowed, fallback }: Naming,
): ReadonlyMap<string, string> {
  const taken = new Set<string>()
  const renamed = new Map<string, string>()
  const take = (name: string, free: string): void => {
    taken.add(free.toLowerCase())
    renamed.set(name, free)
  }
  const isFree = (name: string): boolean => isAllowed(name) && !taken.has(name.toLowerCase())
  for (const name of names) if (isFree(name)) take(name, name)
  for (const name of names) {
    if (renamed.has(name)) continue
    const plain =
      name
        .replaceAll(/\W+/g, '_')
        .replace(/^[^a-zA-Z]+/, '')
        .slice(0, LENGTH) || fallback
    let free = plain
    for (let number = 2; !isFree(free); number++)
      free = `${plain.slice(0, LENGTH - 1 - String(number).length)}_${number}`
    take(name, free)
  }
  return renamed
}
