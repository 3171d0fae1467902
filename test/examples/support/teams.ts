import { readFile } from 'node:fs/promises'
import { createMemoryAdapter, type StorageAdapter, type WriteStep } from '../../../src/index.js'
import { everything } from '../../security/fixture.js'
import { type AnyConfig, createTestService, type Sent, type TestService } from '../../support/service.js'

// biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
type Json = any

const read = async (name: string): Promise<Json> =>
  JSON.parse(await readFile(new URL(`../../../examples/teams/${name}`, import.meta.url), 'utf8'))

/** The configuration of `examples/teams`, and its documents. */
export const CONFIG = await read('config.json')
export const DOCUMENTS = await read('documents.json')

export const COLLECTIONS: readonly string[] = Object.keys(CONFIG.collections)

/** The callers, by the names that stand in their addresses. */
export const PEOPLE: { readonly [name: string]: { readonly id: string; readonly email: string } } =
  Object.fromEntries(DOCUMENTS.users.map(({ _id, email }: Json) => [email.split('@')[0], { id: _id, email }]))

/** The `_id` of the first document of a collection that has a value in some field. */
export function idOf(collection: string, value: string): string {
  const found = DOCUMENTS[collection].find((document: Json) => Object.values(document).includes(value))
  if (!found) throw new Error(`no document of ${collection} has ${value}`)
  return found._id
}

let seeds: readonly WriteStep[] | undefined

/** The steps that store the documents of the example. */
async function seedSteps(): Promise<readonly WriteStep[]> {
  if (seeds) return seeds
  const adapter = createMemoryAdapter({ documents: DOCUMENTS })
  const { handler } = createTestService(CONFIG, { adapter })
  await handler.ready()
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  const stored = await Promise.all(
    COLLECTIONS.map(async (name) =>
      (await adapter.list(name, query)).map((insert): WriteStep => ({ in: name, insert })),
    ),
  )
  seeds = stored.flat()
  return seeds
}

/** A service of the example over a storage, and what brings all documents back. */
export async function openTeams(
  adapter: StorageAdapter,
  config: AnyConfig = CONFIG,
): Promise<TestService & { reset(): Promise<void>; tick(): void }> {
  let time = Date.parse('2030-01-01')
  const service = createTestService(config, { adapter, now: () => time })
  await service.handler.ready()
  const steps = await seedSteps()
  return {
    ...service,
    async reset() {
      const removals = COLLECTIONS.map((name): WriteStep => ({ in: name, remove: everything }))
      const result = await adapter.write([...removals, ...steps], {})
      if (!result.ok) throw new Error(JSON.stringify(result))
      time += 1000
    },
    tick() {
      time += 1000
    },
  }
}

/** Acts as one of the people; by nobody's name, as a stranger. */
export const actAs =
  (service: TestService, name: string) =>
  (line: string, body?: object): Promise<Sent> =>
    service.send(line, { caller: PEOPLE[name] ?? null, ...(body ? { body } : {}) })
