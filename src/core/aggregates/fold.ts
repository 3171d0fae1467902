import { compare, findPlace, holdsType, type Ordered } from '../filter/compare.js'
import { type Filter, isEverything, type Scalar } from '../filter/filter.js'
import { compileFilter } from '../filter/matches.js'
import { compilePath, thaw } from '../json/own-properties.js'
import type { Slice } from '../slices.js'
import type { Aggregated, AggregateQuery, GroupPart, Key } from '../storage.js'
import type { JsonObject } from '../types.js'
import { type Group, Groups, toPartial } from './groups.js'
import { startOf } from './intervals.js'

/** The parts of a query that a fold needs. */
export type FoldQuery = Pick<AggregateQuery, 'by' | 'measures' | 'limit' | 'characters'>

/** How to read the value of each part of the key, and of each measure, from an item: `undefined` if it is hidden. */
export interface ItemReaders<T> {
  readonly by: readonly ((item: T) => unknown)[]
  readonly measures: readonly ((item: T) => unknown)[]
}

/** Puts items into groups, one by one. */
export interface Fold<T> {
  /**
   * Adds an item. Returns false if more groups are certain than the limit allows. Subtracts its steps from `slice`, and
   * does not pause.
   */
  add(item: T, slice: Slice): boolean
  finish(): Aggregated
}

/** Creates the fold of a query over documents. This defines the meaning that every adapter must reproduce. */
export function foldDocuments(query: FoldQuery): Fold<JsonObject> {
  const judges = new Map<Filter, (document: JsonObject) => boolean>()
  const compileReader = ({ field, shown }: { field: GroupPart['field']; shown: Filter }) => {
    const read = compilePath(field.path)
    if (isEverything(shown)) return read
    const isShown = judges.get(shown) ?? compileFilter(shown)
    judges.set(shown, isShown)
    return (document: JsonObject): unknown => (isShown(document) ? read(document) : undefined)
  }
  return createFold(query, {
    by: query.by.map(compileReader),
    measures: query.measures.map(compileReader),
  })
}

/** The steps that an item costs for itself, and for each value that is read of it. */
const STEPS = { item: 4, value: 3 }

/** Creates the fold of a query over items of any form. */
export function createFold<T>(query: FoldQuery, read: ItemReaders<T>): Fold<T> {
  const { by, measures } = query
  const groups = new Groups(by.length, measures)
  const cuts = by.map(compileCut)
  const holds = measures.map(({ field }) => holdsType(field.type))
  const hasExtremes = measures.map(({ takes }) => takes.some((take) => take !== 'sum'))
  const key: Key[] = by.map(() => null)
  const steps = STEPS.item + STEPS.value * (by.length + measures.length)
  const count = (group: Group, item: T, slice: Slice): void => {
    group.count += 1
    for (let i = 0; i < measures.length; i++) {
      const value = read.measures[i]?.(item)
      if (!holds[i]?.(value)) continue
      group.sums[i]?.add(value as number)
      if (hasExtremes[i]) groups.take(group, i, { min: value as Scalar, max: value as Scalar }, slice)
    }
  }
  const finish = (): Aggregated => ({ groups: groups.all.map(toPartial), isCut: groups.isBeyond(query) })
  if (by.length === 0) {
    // Finding the only group would cost as much as adding to a sum.
    let whole: Group | undefined
    return {
      add(item, slice) {
        slice.left -= steps
        whole ??= groups.find(key)
        count(whole, item, slice)
        return !groups.isBeyond(query)
      },
      finish,
    }
  }
  return {
    add(item, slice) {
      slice.left -= steps
      let several: readonly Key[] | undefined
      let place = 0
      for (let i = 0; i < by.length; i++) {
        const cut = cuts[i]?.(read.by[i]?.(item), slice) ?? null
        if (typeof cut === 'object' && cut !== null) {
          several = cut
          place = i
        } else key[i] = cut
      }
      if (!several) count(groups.find(key), item, slice)
      else
        for (const one of several) {
          slice.left -= steps
          key[place] = one
          count(groups.find(key), item, slice)
        }
      return !groups.isBeyond(query)
    },
    finish,
  }
}

/** Returns the key of a value, or the keys of an array. */
type CutValue = (value: unknown, slice: Slice) => Key | readonly Key[]

function compileCut({ field, cut }: GroupPart): CutValue {
  const holds = holdsType(field.type)
  if (field.each)
    return (value, slice) => {
      if (!Array.isArray(value)) return null
      slice.left -= STEPS.value * value.length
      return [...new Set(thaw(value).filter(holds))] as readonly Key[]
    }
  if (cut === 'value') return (value) => (holds(value) ? (value as Scalar) : null)
  if (typeof cut === 'string') return (value) => (holds(value) ? startOf(cut, value as string) : null)
  return (value, slice) => (holds(value) ? findEdge(cut, value as Ordered, slice) : null)
}

/** Returns the last of ascending edges that is not above a value; `null` if there is none. */
function findEdge(edges: readonly Scalar[], value: Ordered, slice: Slice): Key {
  const next = findPlace(0, edges.length, (place) => {
    slice.left -= 1
    return compare(edges[place], value) <= 0
  })
  return edges[next - 1] ?? null
}
