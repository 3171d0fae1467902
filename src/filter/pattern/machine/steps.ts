import { toSparse, toWords } from './bit-sets.js'
import { ANYWHERE, BEFORE_CHARACTER, BEHIND_CHARACTER, type Contexts } from './context.js'

/** The steps between positions, in a form that takes many at once. */
export interface Steps {
  /** Positions that can be followed by themselves (`stay`) and by the next one (`shift`) in every context. */
  readonly stay: Int32Array
  readonly shift: Int32Array
  /**
   * All other steps, grouped by their targets: `[contexts, end of the sources, end of the targets, (word,
   * bits) of the sources…, (word, bits) of the targets…]`.
   */
  readonly jumps: Int32Array
}

interface Jump {
  readonly contexts: Contexts
  readonly sources: number[]
  readonly targets: readonly number[]
}

/** Sorts the steps of each position into stays, shifts and jumps. */
export function sortSteps(follow: readonly ReadonlyMap<number, Contexts>[], width: number): Steps {
  const steps = follow.map((targets, from) => {
    const possible = from === 0 ? BEFORE_CHARACTER : BEFORE_CHARACTER & BEHIND_CHARACTER
    const all: number[] = []
    const some = new Map<Contexts, number[]>()
    for (const [to, contexts] of targets) {
      const known = contexts === possible ? all : some.get(contexts)
      if (known) known.push(to)
      else some.set(contexts, [to])
    }
    const far = all.filter((to) => to !== from && to !== from + 1)
    return { from, all: nameTargets(all), far: nameTargets(far), some }
  })
  const shared = new Map<string, number>()
  for (const { all, far } of steps)
    for (const { name } of [all, far]) shared.set(name, (shared.get(name) ?? 0) + 1)

  const jumps = new Map<string, Jump>()
  const addJump = (from: number, { targets, name }: Targets, contexts: Contexts): void => {
    const key = `${contexts}:${name}`
    const jump = jumps.get(key) ?? { contexts, sources: [], targets }
    jump.sources.push(from)
    jumps.set(key, jump)
  }
  for (const { from, all, far, some } of steps) {
    // The targets with or without the near ones, whichever more positions share.
    const isWholeShared = (shared.get(all.name) ?? 0) > (shared.get(far.name) ?? 0)
    if (far.targets.length > 0) addJump(from, isWholeShared ? all : far, ANYWHERE)
    for (const [contexts, targets] of some) addJump(from, nameTargets(targets), contexts)
  }
  const near = (distance: number): Int32Array =>
    toWords(
      steps.flatMap(({ from, all }) => (all.targets.includes(from + distance) ? [from] : [])),
      width,
    )
  return { stay: near(0), shift: near(1), jumps: Int32Array.from(writeJumps([...jumps.values()], width)) }
}

/** The targets of steps, with a name that is the same for equal sets. */
interface Targets {
  readonly targets: readonly number[]
  readonly name: string
}

function nameTargets(targets: number[]): Targets {
  targets.sort((a, b) => a - b)
  return { targets, name: String.fromCharCode(...targets) }
}

function writeJumps(jumps: readonly Jump[], width: number): readonly number[] {
  const written: number[] = []
  for (const { contexts, sources, targets } of jumps) {
    const from = toSparse(sources, width)
    const to = toSparse(targets, width)
    const start = written.length + 3
    written.push(contexts, start + from.length, start + from.length + to.length, ...from, ...to)
  }
  return written
}
