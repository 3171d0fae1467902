import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { CallOptions } from '../../src/core/storage.js'
import type { createCollectionService, OptionsFor, StorageAdapter, StoredDocument } from '../../src/index.js'
import { createMemoryAdapter } from '../../src/index.js'
import { type AnyConfig, createTestService, type TestService } from './service.js'

/**
 * Whether a call belongs to a start: to the comparison with earlier configurations, or to that of stored documents, which
 * runs in the background. A test that counts or interrupts the calls of requests leaves it out.
 */
export const isOfStart = ({ caller }: CallOptions): boolean => caller === 'start'

type Methods = Partial<Pick<StorageAdapter, 'list' | 'count' | 'write'>>

/** An adapter with other methods for requests. A start has those of `inner`. */
export const replaceMethods = (inner: StorageAdapter, methods: Methods): StorageAdapter => {
  const others = { ...inner, ...methods }
  const of = (options: CallOptions): StorageAdapter => (isOfStart(options) ? inner : others)
  return {
    ...inner,
    list: (name, query) => of(query).list(name, query),
    count: (name, filter, options) => of(options).count(name, filter, options),
    write: (steps, options) => of(options).write(steps, options),
  }
}

type Json = { readonly [name: string]: unknown }

/** An `_id` that no clock gives. */
export const idOf = (n: number): string => `0189abcd-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** The time at which documents were put into the storage. */
export const LONG_AGO = '2020-01-01T00:00:00.000Z'

/** A service over documents put straight into the storage: what no body could bring in is among them. */
export async function openStored(
  config: AnyConfig,
  stored: { readonly [collection: string]: readonly Json[] },
  options: OptionsFor<unknown> & {
    readonly adapter?: StorageAdapter
    readonly create?: typeof createCollectionService
  } = {},
): Promise<TestService> {
  const adapter = options.adapter ?? createMemoryAdapter()
  const service = createTestService(config, { holdsOthers: true, ...options, adapter })
  await service.handler.ready()
  const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 1 }
  const steps = Object.entries(stored).flatMap(([name, documents]) =>
    documents.map((document, i) => ({
      in: name,
      insert: { _id: idOf(i + 1), ...system, ...document } as StoredDocument,
    })),
  )
  expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
  return service
}

/** All that is stored of a document; `undefined` where there is none. */
export async function readStored(
  { adapter }: { readonly adapter: StorageAdapter },
  collection: string,
  id: string,
): Promise<StoredDocument | undefined> {
  const all = await adapter.list(collection, { filter: everything, sort: [], skip: 0, limit: null })
  return all.find(({ _id }) => _id === id)
}

/** The declared and undeclared fields of a stored document, without those of the service. */
export async function fieldsOf(
  service: { readonly adapter: StorageAdapter },
  collection: string,
  id: string,
): Promise<Json> {
  const document: Json = (await readStored(service, collection, id)) ?? {}
  const { createdAt, updatedAt, createdBy, ...rest } = document
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('_')))
}

/** An adapter that compares stored documents at the start, as it is not in memory, with some of its methods replaced. */
export async function createStored(
  documents: { readonly [collection: string]: readonly object[] },
  own: (adapter: StorageAdapter) => Partial<StorageAdapter> = () => ({}),
): Promise<StorageAdapter> {
  const { system, ...adapter } = createMemoryAdapter()
  await adapter.open(Object.keys(documents).map((name) => ({ name, indexes: [] })))
  for (const [name, all] of Object.entries(documents))
    for (const [i, document] of all.entries())
      await adapter.write([{ in: name, insert: { _id: idOf(i + 1), _version: 1, ...document } }], {})
  const others: StorageAdapter = { ...adapter, ...own(adapter) }
  // The record of earlier configurations is read before documents are compared.
  const list: StorageAdapter['list'] = (name, query) =>
    (name === '_schema' ? adapter : others).list(name, query)
  return { ...others, list }
}
