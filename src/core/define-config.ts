import type { ConfigInput } from '../infer/config-input.js'

/**
 * Returns a configuration unchanged, with a type that knows the names of its collections and the shape of
 * their documents. The compiler checks a literal; `createCollectionService` checks an imported JSON file.
 *
 * @example
 * ```ts
 * const config = defineConfig({
 *   collections: { notes: { schema: { text: { type: 'string', required: true } } } },
 * })
 * type Note = DocumentOf<typeof config, 'notes'>
 * ```
 */
export function defineConfig<const C>(config: ConfigInput<C>): C {
  // `ConfigInput<C>` and `C` describe the same object: one checks it, the other keeps its names.
  return config as unknown as C
}
