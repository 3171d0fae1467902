import type { JsonSchema } from '../json/json-schema.js'

/** The kinds of components that a document has. */
type Kind = 'schemas' | 'parameters' | 'responses' | 'headers'

/** The components of a document, by kind and name. */
export type ComponentsByKind = { readonly [kind in Kind]: { readonly [name: string]: JsonSchema } }

/** The parts of a document that several places refer to. */
export interface Components {
  /** A reference to a component, which is made if it is still referred to when the document is done. */
  refer(kind: Kind, name: string, make: () => JsonSchema): JsonSchema
  /** Makes the components to which something refers, itself or over others. */
  makeFor(root: unknown): ComponentsByKind
}

/**
 * Creates the components of a document. No collection has a dot in its name: so a name with one is free, and what
 * belongs to a collection begins with the collection's.
 */
export function createComponents(): Components {
  const makers = new Map<string, readonly [kind: Kind, name: string, make: () => JsonSchema]>()
  return {
    refer(kind, name, make) {
      const $ref = `#/components/${kind}/${name}`
      if (!makers.has($ref)) makers.set($ref, [kind, name, make])
      return { $ref }
    },
    makeFor(root) {
      const made: { readonly [kind in Kind]: Map<string, JsonSchema> } = {
        schemas: new Map(),
        parameters: new Map(),
        responses: new Map(),
        headers: new Map(),
      }
      const visit = (value: unknown): void => {
        if (typeof value !== 'object' || value === null) return
        for (const [key, inner] of Object.entries(value)) {
          const found = key === '$ref' ? makers.get(inner) : undefined
          if (!found) {
            visit(inner)
            continue
          }
          const [kind, name, make] = found
          if (made[kind].has(name)) continue
          const component = make()
          made[kind].set(name, component)
          visit(component)
        }
      }
      visit(root)
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
