import { createFold, type Fold } from '../../core/aggregates/fold.js'
import { type Filter, ID, isEverything } from '../../core/filter/filter.js'
import type { Slice } from '../../core/slices.js'
import type { AggregateQuery } from '../../core/storage.js'
import { CHARACTERS } from '../sql/read/judge-texts.js'
import { pathOf } from './values.js'

/** A row: the values at some paths, as JSON parses them, and for some filters whether the document matches them. */
interface NarrowRow {
  readonly values: readonly unknown[]
  readonly shown: string
}

/** A fold of an aggregate that needs only some values of each document. */
export interface NarrowRows {
  /** The conditions that rows contain: where the caller sees a field. */
  readonly filters: readonly Filter[]
  /** Builds the expression of a row. `compile` builds a condition, and is called in the order of the conditions. */
  writeRow(compile: (filter: Filter) => string): string
  /** Adds a row, like `Fold.add`. */
  add(text: string, slice: Slice): boolean
  readonly finish: Fold<NarrowRow>['finish']
}

/**
 * Creates the fold of an aggregate over rows. The values are selected as JSON text, because the numbers of SQLite would
 * not always be the nearest doubles. `mayRepeat`: a document may have several rows, of which only the first counts.
 */
export function foldNarrowRows({ by, measures, ...query }: AggregateQuery, mayRepeat = false): NarrowRows {
  const paths = mayRepeat ? [ID.path] : []
  const filters: Filter[] = []
  const placeIn = <T>(all: T[], one: T, isSame: (other: T) => boolean): number => {
    const place = all.findIndex(isSame)
    return place < 0 ? all.push(one) - 1 : place
  }
  const compileReader = ({
    field,
    shown,
  }: AggregateQuery['by'][number] | AggregateQuery['measures'][number]) => {
    const place = placeIn(paths, field.path, (other) => other === field.path)
    if (isEverything(shown)) return ({ values }: NarrowRow): unknown => values[place]
    const text = JSON.stringify(shown)
    const filter = placeIn(filters, shown, (other) => other === shown || JSON.stringify(other) === text)
    return (row: NarrowRow): unknown => (row.shown[filter] === '1' ? row.values[place] : undefined)
  }
  const { add, finish } = createFold<NarrowRow>(
    { by, measures, ...query },
    { by: by.map(compileReader), measures: measures.map(compileReader) },
  )
  // With a single path, the result would not be an array.
  const selected = paths.length > 1 ? paths : [...paths, ID.path, ID.path].slice(0, 2)
  const known = new Set<unknown>()
  return {
    filters,
    writeRow(compile) {
      const array = `json_extract(document, ${selected.map(pathOf).join(', ')})`
      return [array, ...filters.map((filter) => `iif(${compile(filter)}, '1', '0')`)].join(' || ')
    },
    add(text, slice) {
      slice.left -= text.length / CHARACTERS
      const end = text.length - filters.length
      const values = JSON.parse(filters.length === 0 ? text : text.slice(0, end)) as readonly unknown[]
      if (mayRepeat && known.size === known.add(values[0]).size) return true
      return add({ values, shown: filters.length === 0 ? '' : text.slice(end) }, slice)
    },
    finish,
  }
}
