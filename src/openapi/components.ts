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
      const made: { readonly [kind in Kind]: Map<string, JsonSchema> } = {
        schemas: new Map(),
        parameters: new Map(),
        responses: new Map(),
        headers: new Map(),
      }
      const waiting = [...roots].reverse()
      for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
        slice.left -= VISIT
        if (slice.left <= 0) yield
        const found: Maker[] = []
        findReferences(value, ($ref) => {
          const maker = makers.get($ref)
          if (maker) found.push(maker)
        })
        const inside = found.flatMap(([kind, name, make]): readonly JsonSchema[] => {
          if (made[kind].has(name)) return []
          const component = make()
          made[kind].set(name, component)
          slice.left -= MAKE
          return [component]
        })
        waiting.push(...inside.reverse())
      }
      const { schemas, parameters, responses, headers } = made
      return {
        schemas: Object.fromEntries(schemas),
        parameters: Object.fromEntries(parameters),
        responses: Object.fromEntries(responses),
        headers: Object.fromEntries(headers),
      }
    },
  }
}

/** The steps of looking through a component, and of making one. */
const VISIT = 100
const MAKE = 50

function findReferences(value: unknown, note: ($ref: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref') note(inner)
    else findReferences(inner, note)
  }
}
