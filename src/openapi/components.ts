import type { JsonSchema } from '../json/json-schema.js'
import type { Slice, Sliced } from '../slices.js'

/** The kinds of components that a document has. */
type Kind = 'schemas' | 'parameters' | 'responses' | 'headers'

type Maker = readonly [kind: Kind, name: string, make: () => JsonSchema]

/** The components of a document, by kind and name. */
export type ComponentsByKind = { readonly [kind in Kind]: { readonly [name: string]: JsonSchema } }

/** The parts of a document that several places refer to. */
export interface Components {
  /** A reference to a component, which is made if it is still referred to when the document is done. */
  refer(kind: Kind, name: string, make: () => JsonSchema): JsonSchema
  /** Makes what a reference stands for; `undefined` where nothing has that name. */
  make($ref: string): JsonSchema | undefined
  /** Makes the components to which something refers, itself or over others. */
  makeFor(roots: readonly unknown[], slice: Slice): Sliced<ComponentsByKind>
}

/**
 * Creates the components of a document. No collection has a dot in its name: so a name with one is free, and what
 * belongs to a collection begins with the collection's.
 */
export function createComponents(): Components {
  const makers = new Map<unknown, Maker>()
  return {
    refer(kind, name, make) {
      const $ref = `#/components/${kind}/${name}`
      if (!makers.has($ref)) makers.set($ref, [kind, name, make])
      return { $ref }
    },
    make: ($ref) => makers.get($ref)?.[2](),
    *makeFor(roots, slice) {
      const made: { readonly [kind in Kind]: { [name: string]: JsonSchema } } = {
        schemas: {},
        parameters: {},
        responses: {},
        headers: {},
      }
      const waiting = [...roots].reverse()
      for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
        slice.left -= VISIT
        if (slice.left <= 0) yield
        const inside: JsonSchema[] = []
        for (const $ref of findReferences(value)) {
          slice.left -= FIND
          if (slice.left <= 0) yield
          const [kind, name, make] = makers.get($ref) ?? []
          if (!kind || !name || !make || Object.hasOwn(made[kind], name)) continue
          const component = make()
          made[kind][name] = component
          inside.push(component)
          slice.left -= MAKE
        }
        waiting.push(...inside.reverse())
      }
      return made
    },
  }
}

/** The steps of looking through a component, of finding a reference, and of making a component. */
const VISIT = 100
const FIND = 20
const MAKE = 50

function* findReferences(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref') yield inner
    else yield* findReferences(inner)
  }
}
