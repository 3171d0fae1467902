/** The rules for names. */
export interface Naming {
  readonly isAllowed: (name: string) => boolean
  /** The name to use if no character is allowed. */
  readonly fallback: string
}

/** The most characters of a name. */
const LENGTH = 63

/**
 * Allowed names for the given ones; they differ by more than letter case. Allowed names stay; the others lose their
 * invalid characters, and get a number if the rest is taken.
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
