import type { ConfigInput } from './infer/config-input.js'

/**
 * Returns a configuration as it is, with a type that knows the names of its collections and the shape of their
 * documents. A literal is checked by the compiler, an import of a JSON file by `createCollectionService`.
 */
export function defineConfig<const C>(config: ConfigInput<C>): C {
  // Both are the same object: one type to be checked against, the other to be known by.
  return config as unknown as C
}
