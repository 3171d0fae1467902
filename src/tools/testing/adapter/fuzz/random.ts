/** A random generator. Generators with the same seed make the same choices. */
export interface Random {
  /** Returns a number from 0 (included) to 1 (excluded). */
  next(): number
  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number
  /** Returns true with this probability. */
  chance(probability: number): boolean
  pick<T>(values: readonly [T, ...T[]] | readonly T[]): T
  /** Returns up to `count` different elements of `values`, in random order. */
  sample<T>(values: readonly T[], count: number): readonly T[]
}

/** Creates a generator. Its algorithm, Mulberry32, is small and good enough to choose test data. */
export function createRandom(seed: number): Random {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick(values) {
      if (values.length === 0) throw new Error('there are no values to pick from')
      return values[integer(0, values.length - 1)] as (typeof values)[number]
    },
    sample(values, count) {
      const left = [...values]
      const taken: typeof left = []
      while (taken.length < count && left.length > 0)
        taken.push(...left.splice(integer(0, left.length - 1), 1))
      return taken
    },
  }
}
