import { readFile } from 'node:fs/promises'
import type { StorageAdapter } from '../../../src/index.js'
import type { AnyConfig, TestService } from '../../support/service.js'
import { actAs as actAsPerson, openSeeded, peopleOf, type SeededService } from './seeded.js'

// biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
type Json = any

const read = async (name: string): Promise<Json> =>
  JSON.parse(await readFile(new URL(`../../../examples/teams/${name}`, import.meta.url), 'utf8'))

/** The configuration of `examples/teams`, and its documents. */
export const CONFIG = await read('config.json')
export const DOCUMENTS = await read('documents.json')

export const COLLECTIONS: readonly string[] = Object.keys(CONFIG.collections)

/** The callers, by the names that stand in their addresses. */
export const PEOPLE = peopleOf(DOCUMENTS)

/** The `_id` of the first document of a collection that has a value in some field. */
export function idOf(collection: string, value: string): string {
  const found = DOCUMENTS[collection].find((document: Json) => Object.values(document).includes(value))
  if (!found) throw new Error(`no document of ${collection} has ${value}`)
  return found._id
}

/** A service of the example over a storage, and what brings all documents back. */
export const openTeams = (adapter: StorageAdapter, config: AnyConfig = CONFIG): Promise<SeededService> =>
  openSeeded(adapter, { config: CONFIG, documents: DOCUMENTS }, config)

/** Acts as one of the people; by nobody's name, as a stranger. */
export const actAs = (service: TestService, name: string) => actAsPerson(service, PEOPLE[name])
