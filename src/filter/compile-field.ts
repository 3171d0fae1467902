import { compilePath } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'
import { holdsType, type Ordered } from './compare.js'
import type { FieldRef } from './filter.js'

/** Compiles a field to a getter of its value. One of another type than declared counts as missing: `undefined`. */
export function compileField({ path, type }: FieldRef): (document: JsonObject) => Ordered {
  const read = compilePath(path)
  const holds = holdsType(type)
  return (document) => {
    const value = read(document)
    return holds(value) ? (value as Ordered) : undefined
  }
}
