import { holdsType } from '../../filter/compare.js'
import type { FieldRef, Scalar } from '../../filter/filter.js'
import { compilePath, isObject, thaw } from '../../json/own-properties.js'
import type { StoredDocument } from '../../storage.js'
import type { Row } from './row.js'

/** The rows whose array holds a value, by that value. */
export interface ElementIndex {
  /** The field of the elements: with `each`, perhaps with `inside`. */
  readonly field: FieldRef
  find(value: Scalar): ReadonlySet<Row>
  add(row: Row): void
  remove(row: Row): void
}

const NONE: ReadonlySet<Row> = new Set()

/** Creates an empty index of the elements of an array. */
export function createElementIndex(field: FieldRef): ElementIndex {
  const rows = new Map<unknown, Set<Row>>()
  const readArray = compilePath(field.path)
  const readInside = field.inside === undefined ? undefined : compilePath(field.inside)
  const holds = holdsType(field.type)
  const valuesOf = (document: StoredDocument): ReadonlySet<unknown> => {
    const elements = readArray(document)
    if (!Array.isArray(elements)) return new Set()
    const values = readInside
      ? elements.map((element) => (isObject(element) ? readInside(element) : undefined))
      : elements
    return new Set(thaw(values).filter(holds))
  }
  return {
    field,
    find: (value) => rows.get(value) ?? NONE,
    add(row) {
      for (const value of valuesOf(row.document)) {
        const known = rows.get(value)
        if (known) known.add(row)
        else rows.set(value, new Set([row]))
      }
    },
    remove(row) {
      for (const value of valuesOf(row.document)) {
        const known = rows.get(value)
        known?.delete(row)
        if (known?.size === 0) rows.delete(value)
      }
    },
  }
}
