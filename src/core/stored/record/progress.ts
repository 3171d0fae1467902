import { isId } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { SCHEMA } from './schema-record.js'

/**
 * How far a migration has come in one collection: it has looked at the documents up to `after`, of those up to `last`.
 */
export interface CollectionPlace {
  readonly after: string
  readonly last: string
  /** The `_id`s of the documents up to `after` that the migration could not change, at most 1,000. */
  readonly failed: readonly string[]
  /** Whether all other documents have been migrated. */
  readonly isDone: boolean
}

/** The places of a migration, by stored collection. */
type Places = { readonly [collection: string]: CollectionPlace }

const PREFIX = 'migration '

const keyOf = (migration: string): string => PREFIX + migration

/** Returns the migrations of which some documents of `_schema` are the progress: those that have begun. */
export const readBegun = (documents: readonly StoredDocument[]): readonly string[] =>
  documents.flatMap(({ _id }) => (_id.startsWith(PREFIX) ? [_id.slice(PREFIX.length)] : []))

const ERASE = 'erase'
const DROP = 'drop'

const readKeys = (documents: readonly StoredDocument[], id: string): readonly string[] =>
  documents.flatMap((document): readonly string[] => {
    const text = document._id === id ? readOwn(document, 'keys') : undefined
    return typeof text === 'string' ? JSON.parse(text) : []
  })

const storeKeys = (id: string, keys: readonly string[]): readonly WriteStep[] => [
  { in: SCHEMA, remove: isId(id) },
  ...(keys.length === 0
    ? []
    : [{ in: SCHEMA, insert: { _id: id, _version: drawFirstVersion(), keys: JSON.stringify(keys) } }]),
]

/** Returns the names whose values some runs have begun to erase (see `eraseKey`), from documents of `_schema`. */
export const readErasing = (documents: readonly StoredDocument[]): readonly string[] =>
  readKeys(documents, ERASE)

/** Returns the steps that store the names whose values a run has begun to erase; none if it has ended. */
export const storeErasing = (keys: readonly string[]): readonly WriteStep[] => storeKeys(ERASE, keys)

/** Returns the unique indexes that are being dropped (see `uniqueFieldsKey`), from documents of `_schema`. */
export const readDropping = (documents: readonly StoredDocument[]): readonly string[] =>
  readKeys(documents, DROP)

/** Returns the steps that store the unique indexes that are being dropped. */
export const storeDropping = (keys: readonly string[]): readonly WriteStep[] => storeKeys(DROP, keys)

/** The progress of a migration, which is stored in the same writes as the documents that it changes. */
export class Progress {
  readonly #key: string
  #version: number | undefined
  #places: Places

  private constructor(key: string, version: number | undefined, places: Places) {
    this.#key = key
    this.#version = version
    this.#places = places
  }

  /** Reads the progress of a migration. `read` returns a document of the collection `_schema`. */
  static async read(
    migration: string,
    read: (id: string) => MaybePromise<StoredDocument | undefined>,
  ): Promise<Progress> {
    const key = keyOf(migration)
    const found = await read(key)
    const text = found && readOwn(found, 'places')
    return new Progress(key, found?._version, typeof text === 'string' ? JSON.parse(text) : {})
  }

  /** Whether the migration has begun, in this run or an earlier one. */
  get hasBegun(): boolean {
    return this.#version !== undefined
  }

  /** The place in a stored collection; `undefined` if the migration has not begun there. */
  at(collection: string): CollectionPlace | undefined {
    return Object.hasOwn(this.#places, collection) ? this.#places[collection] : undefined
  }

  /** The `_id`s of all documents that the migration could not change. */
  get failed(): readonly string[] {
    return Object.values(this.#places).flatMap(({ failed }) => failed)
  }

  /** Returns the step that stores a place, and a function to call when it has taken effect. */
  move(collection: string, place: CollectionPlace): { readonly step: WriteStep; readonly moved: () => void } {
    const places = { ...this.#places, [collection]: place }
    const version = this.#version === undefined ? drawFirstVersion() : this.#version + 1
    const document = { _id: this.#key, _version: version, places: JSON.stringify(places) }
    const step: WriteStep =
      this.#version === undefined
        ? { in: SCHEMA, insert: document }
        : { in: SCHEMA, replace: document, version: this.#version }
    return {
      step,
      moved: () => {
        this.#version = version
        this.#places = places
      },
    }
  }
}

/** Returns the step that stores that a migration has begun. */
export const beginProgress = (migration: string): WriteStep => ({
  in: SCHEMA,
  insert: { _id: keyOf(migration), _version: drawFirstVersion(), places: '{}' },
})

/** Returns the step that forgets the progress of a migration that is finished. */
export const forgetProgress = (migration: string): WriteStep => ({
  in: SCHEMA,
  remove: isId(keyOf(migration)),
})
