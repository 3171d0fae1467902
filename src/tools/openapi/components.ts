import type { JsonSchema } from '../../core/json/json-schema.js'
import type { Slice, Sliced } from '../../core/slices.js'

/** The kinds of components of a document. */
export type ComponentKind = 'schemas' | 'parameters' | 'responses' | 'headers'

type Maker = readonly [kind: ComponentKind, name: string, make: () => JsonSchema]

/** Receives a component as soon as it is created. */
export type TakeComponent = (kind: ComponentKind, name: string, component: JsonSchema) => void

/** The components of a document that several places refer to. */
export interface Components {
  /** Returns a reference to a component, which is created at the end if the document still refers to it. */
  refer(kind: ComponentKind, name: string, make: () => JsonSchema): JsonSchema
  /** Creates the component of a reference; `undefined` if none has that name, or `makeFor` has created it. */
  make($ref: string): JsonSchema | undefined
  /** Creates the components that are referred to, directly or through others, and do not exist yet. */
  makeFor(root: JsonSchema, take: TakeComponent, slice: Slice): Sliced<void>
}

/**
 * Creates the components of a document. A collection name contains no dot, so a name with a dot cannot collide with
 * one; components of a collection begin with its name.
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
          // The closure holds more memory than the component it creates, so it is released.
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

/** The steps of searching a component, of finding a reference, and of creating a component. */
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
