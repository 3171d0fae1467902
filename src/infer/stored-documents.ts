import type { CollectionName, DocumentOf } from './collections.js'

/** The name of a field or a collection in the storage. */
type StoredName<D, K> = D extends { readonly stored: infer N extends string } ? N : K

/** A definition whose properties have their stored names. */
type StoredDefinition<D> = D extends { readonly type: 'object'; readonly properties: infer P }
  ? Omit<D, 'properties'> & { readonly properties: StoredFields<P> }
  : D extends { readonly type: 'array'; readonly items: infer I }
    ? Omit<D, 'items'> & { readonly items: StoredDefinition<I> }
    : D

type StoredFields<S> = {
  readonly [K in keyof S as StoredName<S[K], K> & PropertyKey]: StoredDefinition<S[K]>
}

/** The type of a configuration whose collections and fields have their stored names. */
export type StoredConfig<C> = C extends { readonly collections: infer N }
  ? {
      readonly collections: {
        readonly [K in keyof N as StoredName<N[K], K> & PropertyKey]: N[K] extends {
          readonly schema: infer S
        }
          ? Omit<N[K], 'schema'> & { readonly schema: StoredFields<S> }
          : N[K]
      }
    }
  : C

/** A stored document under a configuration, as a migration gets it: stored names, without hashes. */
export type StoredDocumentOf<C, N extends CollectionName<StoredConfig<C>>> = DocumentOf<StoredConfig<C>, N>
