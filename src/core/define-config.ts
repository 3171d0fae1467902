import type { ConfigInput } from '../infer/config-input.js'

/**
 * Returns a configuration unchanged, with a type that knows the names of its collections and the shape of their
 * documents. The compiler checks a configuration that is written as a literal. `createCollectionService` checks an
 * imported JSON file at run time.
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
  // `ConfigInput<C>` and `C` describe the same object: the first type checks it, the second keeps the literal names.
  return config as unknown as C
}
