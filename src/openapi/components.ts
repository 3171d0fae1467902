import type { JsonSchema } from '../json/json-schema.js'
import type { Slice, Sliced } from '../slices.js'

/** The kinds of components that a document has. */
export type ComponentKind = 'schemas' | 'parameters' | 'responses' | 'headers'

type Maker = readonly [kind: ComponentKind, name: string, make: () => JsonSchema]

/** Takes a component as soon as it is made. */
export type TakeComponent = (kind: ComponentKind, name: string, component: JsonSchema) => void

/** The parts of a document that several places refer to. */
export interface Components {
  /** A reference to a component, which is made if it is still referred to when the document is done. */
  refer(kind: ComponentKind, name: string, make: () => JsonSchema): JsonSchema
  /** Makes what a reference stands for; `undefined` where nothing has that name, or `makeFor` has made it. */
  make($ref: string): JsonSchema | undefined
  /** Makes the components to which something refers, itself or over others, and which are not made yet. */
  makeFor(root: JsonSchema, take: TakeComponent, slice: Slice): Sliced<void>
}

/**
 * Creates the components of a document. No collection has a dot in its name: so a name with one is free, and what
 * belongs to a collection begins with the collection's.
 */
export function createComponents(): Components {
  const makers = new Map<unknown, Maker | null>()
  return {
    refer(kind, name, make) {
      const $ref = `#/components/${kind}/${name}`
      if (!makers.has($ref)) makers.set($ref, [kind, name, make])
      return { $ref }
    },
    make: ($ref) => makers.get($ref)?.[2](),
    *makeFor(root, take, slice) {
      const waiting: JsonSchema[] = [root]
      for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
        const found: unknown[] = []
        findReferences(value, found)
        slice.left -= VISIT + found.length * FIND
        const inside: JsonSchema[] = []
        for (const $ref of found) {
          if (slice.left <= 0) yield
          const maker = makers.get($ref)
          if (!maker) continue
          // What makes a component holds more than the component: it is let go of.
          makers.set($ref, null)
          const [kind, name, make] = maker
          const component = make()
          slice.left -= MAKE
          take(kind, name, component)
          inside.push(component)
        }
        waiting.push(...inside.reverse())
      }
    },
  }
}

/** The steps of looking through a component, of finding a reference, and of making a component. */
const VISIT = 100
const FIND = 20
const MAKE = 50

/** Adds the references in a value to `found`. */
function findReferences(value: unknown, found: unknown[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) for (const inner of value) findReferences(inner, found)
  else
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref') found.push(inner)
      else findReferences(inner, found)
    }
}
