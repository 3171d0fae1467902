import type { Collection } from '../../src/core/config/plan.js'
import { compileFields } from '../../src/core/fields/compile-fields.js'
import type { Field } from '../../src/core/fields/field-type.js'
import { isObject } from '../../src/core/json/own-properties.js'
import type { StoredDocument, WriteStep } from '../../src/core/storage.js'
import { renameStorage } from '../../src/core/stored/names/renamed-storage.js'
import {
  type Config,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../src/index.js'
import type { AnyConfig } from './service.js'
import type { Building } from './write-laws.js'

type Named = { readonly [name: string]: unknown }

/**
 * Returns a configuration with the same behaviour, whose collections and fields are stored under other names: each under
 * the name of the next one, so that a name that is not converted finds a value of something else.
 */
export function storeElsewhere(config: AnyConfig): AnyConfig {
  const { collections } = config as { readonly collections?: unknown }
  if (!isObject(collections)) return config
  return {
    ...config,
    collections: rotate(collections, (collection) =>
      isObject(collection.schema)
        ? { ...collection, schema: rotate(collection.schema, renameInside) }
        : collection,
    ),
  } as AnyConfig
}

function rotate(named: Named, inside: (one: Named) => Named): Named {
  const names = Object.keys(named).filter((name) => isObject(named[name]))
  return Object.fromEntries(
    Object.entries(named).map(([name, one]) => {
      if (!isObject(one)) return [name, one]
      const next = names.length > 1 ? names[(names.indexOf(name) + 1) % names.length] : `${name}0`
      return [name, { ...inside(one), stored: next }]
    }),
  )
}

function renameInside(field: Named): Named {
  const { properties, items } = field
  return {
    ...field,
    ...(isObject(properties) ? { properties: rotate(properties, renameInside) } : {}),
    ...(isObject(items) ? { items: renameInside(items) } : {}),
  }
}

/** A service that stores everything elsewhere. Its adapter is given documents, and gives them, under declared names. */
export function buildElsewhere(
  createAdapter: () => StorageAdapter = createMemoryAdapter,
  build: typeof createCollectionService = createCollectionService,
): Required<Building> {
  const bind = new WeakMap<StorageAdapter, (config: AnyConfig) => StorageAdapter>()
  return {
    isElsewhere: true,
    createAdapter() {
      const stored = createAdapter()
      let declared = stored
      let secretsOf = (_: string): readonly Field[] => []
      /** A plain value under the name of a secret is the value of no field, so it has no stored name. */
      const stray = (step: WriteStep): WriteStep => {
        if (!('insert' in step)) return step
        const secrets = secretsOf(step.in).map(({ name }) => name)
        return { ...step, insert: rename(step.insert, '', STRAY, secrets) }
      }
      const late: StorageAdapter = {
        ...stored,
        list: async (name, query) =>
          (await declared.list(name, query)).map((document) => rename(document, STRAY, '')),
        write: (steps, options) => declared.write(steps.map(stray), options),
      }
      bind.set(late, (config) => {
        const collections = readCollections(config)
        declared = renameStorage(stored, collections)
        secretsOf = (name) => collections.get(name)?.fields.filter(({ type }) => type === 'hash') ?? []
        return stored
      })
      return late
    },
    create: ((config: AnyConfig, adapter: StorageAdapter, options: object) => {
      const elsewhere = storeElsewhere(config)
      return build(elsewhere, bind.get(adapter)?.(elsewhere) ?? adapter, options)
    }) as typeof createCollectionService,
  }
}

const STRAY = '_stray_'

/** Renames the named properties, by default all, that begin with one prefix, so that they begin with another one. */
const rename = (document: StoredDocument, from: string, to: string, names?: readonly string[]) =>
  Object.fromEntries(
    Object.entries(document).map(([name, value]) =>
      name.startsWith(from) && (names?.includes(name) ?? true)
        ? [to + name.slice(from.length), value]
        : [name, value],
    ),
  ) as StoredDocument

/** Reads of a configuration what `renameStorage` needs. */
function readCollections(config: AnyConfig): ReadonlyMap<string, Collection> {
  const { collections } = config as Config
  return new Map(
    Object.entries(collections).map(([name, { stored = name, schema }]) => [
      name,
      { name, storedName: stored, fields: compileFields(schema) } as unknown as Collection,
    ]),
  )
}
