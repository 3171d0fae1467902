import { type History, type Version, versionsOf } from './history.js'

/** Two versions of a document, named by their writers, of which the second came right after the first. */
export interface Overwrite {
  readonly document: string
  readonly before: string
  readonly after: string
  /** `false` where nobody has seen which of several came first: each of them is taken for the next. */
  readonly isCertain: boolean
}

/**
 * What each version overwrote: the latest of its trail that was seen, or what came between and was not seen by anyone.
 * Two versions that overwrote the same one are both here.
 */
export function findOverwrites(history: History): readonly Overwrite[] {
  const seen = new Map(versionsOf(history).map((version) => [version.writer, version]))
  return [...seen.values()].flatMap((version) => {
    const before = findBefore(version, seen)
    if (!before) return []
    const between = without(version.trail, [version.writer, ...before.trail])
    const { document, writer } = version
    const isCertain = between.length < 2
    const pair = (first: string, second: string) => ({ document, before: first, after: second, isCertain })
    if (between.length === 0) return [pair(before.writer, writer)]
    return between.flatMap((one) => [pair(before.writer, one), pair(one, writer)])
  })
}

/** The latest version that was seen before another. */
function findBefore({ writer, trail }: Version, seen: ReadonlyMap<string, Version>): Version | undefined {
  const own = new Set(trail)
  const older = trail.flatMap((one) => {
    const version = one === writer ? undefined : seen.get(one)
    return version?.trail.every((ancestor) => own.has(ancestor)) ? [version] : []
  })
  return older.sort((a, b) => b.trail.length - a.trail.length)[0]
}

const without = (some: readonly string[], others: readonly string[]): readonly string[] => {
  const gone = new Set(others)
  return some.filter((one) => !gone.has(one))
}
