import type { Dependency } from './dependencies.js'
import { groupBy } from './group-by.js'

/** A shortest cycle of dependencies, if there is one. */
export function findCycle(dependencies: readonly Dependency[]): readonly Dependency[] | undefined {
  const leaving = groupBy(dependencies, ({ from }) => from)
  const cycles = [...leaving.keys()].sort().flatMap((id) => {
    const cycle = findWay(leaving, id)
    return cycle ? [cycle] : []
  })
  return cycles.sort((a, b) => a.length - b.length)[0]
}

/** A shortest way from a transaction back to itself. */
function findWay(
  leaving: ReadonlyMap<string, readonly Dependency[]>,
  id: string,
): readonly Dependency[] | undefined {
  const arrivals = new Map<string, Dependency>()
  const queue = [id]
  for (const at of queue) {
    for (const dependency of leaving.get(at) ?? []) {
      if (arrivals.has(dependency.to)) continue
      arrivals.set(dependency.to, dependency)
      if (dependency.to === id) return readWay(arrivals, id)
      queue.push(dependency.to)
    }
  }
  return undefined
}

/** The way that has arrived at a transaction where it began. */
function readWay(arrivals: ReadonlyMap<string, Dependency>, id: string): readonly Dependency[] {
  const way: Dependency[] = []
  for (let at = arrivals.get(id); at; at = at.from === id ? undefined : arrivals.get(at.from)) way.unshift(at)
  return way
}
