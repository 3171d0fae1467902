import { everything } from '../../../src/core/filter/filter.js'
import type { Caller, ServiceOptions, StorageAdapter } from '../../../src/index.js'
import type { Sent, TestService } from '../../support/service.js'
import { closeAfterEach } from '../../support/storages.js'
import { idOf, openStored } from '../../support/stored.js'

/** What the tests of references have in common. */

export type Json = { readonly [name: string]: unknown }

export type Stored = { readonly [collection: string]: readonly Json[] }

type Open = (
  collections: Json,
  stored: Stored,
  options?: ServiceOptions & { readonly adapter?: StorageAdapter },
) => Promise<TestService>

/** Opens services over stored documents, which are closed when a test is over. */
export function useOpen(): Open {
  const opened = closeAfterEach()
  return async (collections, stored, options = {}) => {
    const service = await openStored({ collections }, stored, { authenticate: () => null, ...options })
    opened.push(service)
    return service
  }
}

export const ann: Caller = { id: 'ann' }
export const text = { type: 'string' }
export const all = { '*': true }
export const to = (collection: string, more: Json = {}): Json => ({ type: 'reference', collection, ...more })
export const arrayOf = (items: Json): Json => ({ type: 'array', items })
export const objectOf = (properties: Json): Json => ({ type: 'object', properties })

/** An id that no document has. */
export const NOBODY = idOf(0xdead)
export const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])

/** An answer but for what is random in it. */
export const answerOf = ({ status, headers, text: body }: Sent): unknown => [
  status,
  [...headers],
  body.replace(/"requestId":"[^"]*"/, ''),
]

export const INVALID = [400, 'validation_failed']
export const FORBIDDEN = [403, 'forbidden']

/** All that is stored, by collection. */
export async function snapshot({ adapter }: TestService, names: readonly string[]): Promise<unknown> {
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  const lists = await Promise.all(names.map((name) => adapter.list(name, query)))
  return lists.map((documents) => [...documents].sort((a, b) => (a._id < b._id ? -1 : 1)))
}

/** The ids that are left, by collection. */
export async function idsOf({ adapter }: TestService, name: string): Promise<readonly string[]> {
  const documents = await adapter.list(name, { filter: everything, sort: [], skip: 0, limit: null })
  return documents.map(({ _id }) => _id).sort()
}

export const shapes = {
  one: to('people'),
  many: arrayOf(to('people')),
  o: objectOf({ r: to('people'), x: text }),
  list: arrayOf(objectOf({ r: to('people'), x: text })),
  deep: objectOf({ list: arrayOf(objectOf({ o: objectOf({ r: to('people') }) })) }),
}

export const [P1, P2, P3] = [idOf(1), idOf(2), idOf(3)]
