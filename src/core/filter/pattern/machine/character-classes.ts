import { findPlace } from '../../compare.js'
import { LAST, type Range } from '../syntax/code-points.js'

/** All code points, divided into classes. Code points of one class are members of the same sets. */
export interface CharacterClasses {
  readonly count: number
  /** Returns the class of a code point. */
  classOf(point: number): number
  /**
   * The classes of code points of one UTF-16 unit, as a table: `cells[pages[point >> 8] + (point & 0xff)]`.
   */
  readonly pages: Uint16Array
  readonly cells: Uint16Array
  readonly bytes: number
}

/** The number of code points in a page, and the number of pages for all code points of one UTF-16 unit. */
const PAGE = 0x100
const PAGES = 0x100

/** Divides all code points into the fewest classes that distinguish sets of sorted, disjoint ranges. */
export function divide(given: readonly (readonly Range[])[]) {
  const sets = new Set(given)
  const starts = Int32Array.from(
    new Set([0, ...[...sets].flatMap((ranges) => ranges.flatMap(([first, last]) => [first, last + 1]))]),
  )
    .filter((start) => start <= LAST)
    .sort()
  /**
   * Returns the index of the stretch (the code points from one start to the next) that contains a code point.
   */
  const stretchOf = (point: number): number =>
    findPlace(1, starts.length, (place) => (starts[place] ?? 0) <= point) - 1
  const stretchesOf = (ranges: readonly Range[]): readonly number[] =>
    ranges.flatMap(([first, last]) => numbersFrom(stretchOf(first), stretchOf(last)))

  // Each set divides every class into the part inside the set and the part outside.
  const divided = new Int32Array(starts.length)
  let names = 1
  for (const ranges of sets) {
    const taken = new Map<number, number>()
    for (const stretch of stretchesOf(ranges)) {
      const old = divided[stretch] ?? 0
      const name = taken.get(old) ?? names++
      taken.set(old, name)
      divided[stretch] = name
    }
  }
  const classes = number(divided)
  const classOf = (point: number): number => classes[stretchOf(point)] ?? 0
  const pages = new Uint16Array(PAGES)
  const listed: number[] = []
  // Pages of one and the same class share their cells.
  const uniform = new Map<number, number>()
  for (let page = 0; page < PAGES; page++) {
    const first = page * PAGE
    const only = stretchOf(first) === stretchOf(first + PAGE - 1) ? classOf(first) : undefined
    const start = (only === undefined ? undefined : uniform.get(only)) ?? listed.length
    pages[page] = start
    if (only !== undefined) uniform.set(only, start)
    if (start === listed.length) for (let i = 0; i < PAGE; i++) listed.push(classOf(first + i))
  }
  const cells = Uint16Array.from(listed)
  return {
    classes: {
      count: classes.reduce((most, one) => Math.max(most, one), 0) + 1,
      classOf,
      pages,
      cells,
      bytes: starts.byteLength + classes.byteLength + pages.byteLength + cells.byteLength,
    },
    /** Returns the classes of one of the sets. */
    classesOf: (ranges: readonly Range[]): Iterable<number> =>
      new Set(stretchesOf(ranges).map((stretch) => classes[stretch] ?? 0)),
  }
}

/** Numbers the classes from 0, in the order in which their names occur. */
function number(names: Int32Array): Uint16Array {
  const numbers = new Map([...new Set(names)].map((name, number) => [name, number]))
  return Uint16Array.from(names, (name) => numbers.get(name) ?? 0)
}

const numbersFrom = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)
