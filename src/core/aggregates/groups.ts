import { compare, type Ordered } from '../filter/compare.js'
import type { Slice } from '../slices.js'
import type { AggregateQuery, Key, Measure, PartialGroup } from '../storage.js'
import { ExactSum } from './exact-sum.js'

/** A group under construction. For each measure: its sum, its minimum and its maximum, if the measure takes them. */
export interface Group {
  readonly key: readonly Key[]
  count: number
  readonly sums: readonly (ExactSum | null)[]
  readonly min: Ordered[]
  readonly max: Ordered[]
}

/** The groups with one value of a part of the key, by the values of the next part. */
type Level = Map<Key, Level | Group>

/** Groups by their keys. */
export class Groups {
  readonly #parts: number
  readonly #takes: readonly Measure['takes'][]
  readonly #root: Level = new Map()
  readonly #all: Group[] = []
  #characters = 0

  /** `parts`: the number of values of a key. */
  constructor(parts: number, measures: readonly Pick<Measure, 'takes'>[]) {
    this.#parts = parts
    this.#takes = measures.map(({ takes }) => takes)
  }

  get all(): readonly Group[] {
    return this.#all
  }

  /** Whether there are more groups, or more characters in their keys, than these. */
  isBeyond({ limit, characters }: Pick<AggregateQuery, 'limit' | 'characters'>): boolean {
    return this.#all.length > limit || this.#characters > characters
  }

  /** Returns the group of a key, which is created if it is new. `key` may change after the call. */
  find(key: readonly Key[]): Group {
    let level = this.#root
    for (let i = 0; i < this.#parts - 1; i++) {
      const value = key[i] ?? null
      let next = level.get(value) as Level | undefined
      if (!next) {
        next = new Map()
        level.set(value, next)
      }
      level = next
    }
    const last = key[this.#parts - 1] ?? null
    return (level.get(last) as Group | undefined) ?? this.#add(level, last, key)
  }

  #add(level: Level, last: Key, key: readonly Key[]): Group {
    for (const value of key) if (typeof value === 'string') this.#characters += value.length
    const group: Group = {
      // A minus before zero is dropped.
      key: key.map((value) => (value === 0 ? 0 : value)),
      count: 0,
      sums: this.#takes.map((takes) => (takes.includes('sum') ? new ExactSum() : null)),
      min: this.#takes.map(() => undefined),
      max: this.#takes.map(() => undefined),
    }
    level.set(last, group)
    this.#all.push(group)
    return group
  }

  /** Takes a minimum and a maximum of a measure into a group. Subtracts its steps from `slice`. */
  take(group: Group, measure: number, { min, max }: { min?: Ordered; max?: Ordered }, slice: Slice): void {
    const takes = this.#takes[measure] ?? []
    if (min !== undefined && takes.includes('min')) {
      const former = group.min[measure]
      slice.left -= costOf(min)
      if (former === undefined || compare(min, former) < 0) group.min[measure] = min
    }
    if (max !== undefined && takes.includes('max')) {
      slice.left -= costOf(max)
      if (compare(max, group.max[measure]) > 0) group.max[measure] = max
    }
  }
}

const costOf = (value: Ordered): number => (typeof value === 'string' ? 1 + (value.length >> 5) : 1)

/** Returns a group as an adapter returns it. */
export const toPartial = ({ key, count, sums, min, max }: Group): PartialGroup => ({
  key,
  count,
  sums: sums.map((sum) => sum && { decimal: sum.toDecimal(), values: sum.values }),
  min: min.map((value) => value ?? null),
  max: max.map((value) => value ?? null),
})
