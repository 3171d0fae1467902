import type { JsonSchema } from '../../core/json/json-schema.js'
import { type Sliced, untilDone } from '../../core/slices.js'

/** The kinds of components of a document. */
export type ComponentKind = 'schemas' | 'parameters' | 'responses' | 'headers'

type Maker = readonly [kind: ComponentKind, name: string, make: () => JsonSchema]

/** Called with each component as soon as it is created. */
export type TakeComponent = (kind: ComponentKind, name: string, component: JsonSchema) => void

/** The components of a document (schemas, parameters, responses and headers), to which its other parts refer. */
export interface Components {
  /** Returns a reference to a component. `makeFor` creates the component later, if the document still refers to it. */
  refer(kind: ComponentKind, name: string, make: () => JsonSchema): JsonSchema
  /** Creates the component of a reference; `undefined` if the reference is unknown or `makeFor` already created it. */
  make($ref: string): JsonSchema | undefined
  /** Creates every component that does not exist yet and that `root` needs, directly or through other components. */
  readonly makeFor: Sliced<[root: JsonSchema, take: TakeComponent], void>
}

/**
 * Creates the components of a document. The name of a collection's component is the collection name, or begins with it
 * and a dot. A collection name contains no dot, so components of two collections never have the same name.
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
    makeFor(root, take, slices) {
      const waiting: JsonSchema[] = [root]
      const makeInside = (value: JsonSchema): void => {
        const found: unknown[] = []
        findReferences(value, found)
        slices.left -= VISIT + found.length * FIND
        const made: JsonSchema[] = []
        for (const $ref of found) {
          const maker = makers.get($ref)
          if (!maker) continue
          // Releases the closure, which holds more memory than the component that it creates.
          makers.set($ref, null)
          const [kind, name, make] = maker
          const component = make()
          slices.left -= MAKE
          take(kind, name, component)
          made.push(component)
        }
        waiting.push(...made.reverse())
      }
      return untilDone(slices, () => {
        for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
          makeInside(value)
          if (slices.left <= 0) return waiting.length === 0
        }
        return true
      })
    },
  }
}

/** The costs, in steps of a slice, of searching a component, finding a reference and creating a component. */
const VISIT = 100
const FIND = 20
const MAKE = 50

/** Adds all references inside a value to `found`. */
function findReferences(value: unknown, found: unknown[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) for (const inner of value) findReferences(inner, found)
  else
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref') found.push(inner)
      else findReferences(inner, found)
    }
}
