import { isObject } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'

/** The properties of a document that an answer shows: a name with `true` whole, with a projection in part. */
export type Projection = ReadonlyMap<string, Projection | true>

/** Creates the union of dotted paths. */
export function createProjection(paths: readonly string[]): Projection {
  const root = new Map<string, Map<string, unknown> | true>()
  for (const path of paths) {
    let level: Map<string, unknown> = root
    const names = path.split('.')
    for (const [i, name] of names.entries()) {
      const present = level.get(name)
      if (present === true) break
      if (i === names.length - 1) level.set(name, true)
      else if (present instanceof Map) level = present
      else {
        const next = new Map<string, unknown>()
        level.set(name, next)
        level = next
      }
    }
  }
  return root as Projection
}

/**
 * The projected part of a document, in order, with `_id`. A missing parent stays absent (CONTRACT.md §3.8).
 */
export const project = (document: JsonObject, projection: Projection): JsonObject =>
  projectInside(document, new Map([...projection, ['_id', true]]))

const projectInside = (value: JsonObject, projection: Projection): JsonObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      const part = projection.get(name)
      if (part === true) return [[name, inner]]
      return part && isObject(inner) ? [[name, projectInside(inner, part)]] : []
    }),
  )
