import type { MaybePromise, Migration, MigrationResult } from '../../core/types.js'
import type { CollectionName } from '../../infer/collections.js'
import type { StoredConfig, StoredDocumentOf } from '../../infer/stored-documents.js'

/** A migration of documents that were stored under the configuration `C`. */
export interface TypedMigration<C> {
  /** The functions by stored collection. */
  readonly collections: {
    readonly [N in CollectionName<StoredConfig<C>>]?: (
      document: StoredDocumentOf<C, N>,
      // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has this type
    ) => MaybePromise<MigrationResult | undefined | void>
  }
}

/**
 * Gives the functions of a migration the types of the stored documents: those of the earlier configuration, under stored
 * names (CONTRACT.md §1, "Migrations"). Returns the migration unchanged. Documents that do not fit the earlier
 * configuration may have other values.
 *
 * @param before the earlier configuration, a literal or the result of `defineConfig`; only its type is used
 *
 * @example
 * ```ts
 * export default defineMigration(before, {
 *   collections: { posts: ({ minutes }) => ({ set: { minutes2: Number(minutes) } }) },
 * })
 * ```
 */
export const defineMigration = <const C>(_before: C, migration: TypedMigration<NoInfer<C>>): Migration =>
  migration as unknown as Migration
