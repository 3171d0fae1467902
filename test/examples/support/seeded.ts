import {
  type createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
  type WriteStep,
} from '../../../src/index.js'
import { ALL, everything } from '../../security/fixture.js'
import { type AnyConfig, createTestService, type Sent, type TestService } from '../../support/service.js'

/** The first documents of an example, by collection. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
type Documents = { readonly [collection: string]: readonly any[] }

/** An example: a configuration, its first documents, and how its service is made if it has code. */
export interface Example {
  readonly config: AnyConfig
  readonly documents: Documents
  readonly create?: typeof createCollectionService
}

export interface SeededService extends TestService {
  /** Brings all first documents back. */
  reset(): Promise<void>
  /** Lets a second pass. */
  tick(): void
}

const seeds = new Map<Documents, readonly WriteStep[]>()

/** The steps that store the first documents. */
async function seedSteps({ config, documents }: Example): Promise<readonly WriteStep[]> {
  const known = seeds.get(documents)
  if (known) return known
  const adapter = createMemoryAdapter({ documents: documents as { [name: string]: object[] } })
  const { handler } = createTestService(config, { adapter, deliver: () => {} })
  await handler.ready()
  const stored = await Promise.all(
    Object.keys(documents).map(async (name) =>
      (await adapter.list(name, ALL)).map((insert): WriteStep => ({ in: name, insert })),
    ),
  )
  seeds.set(documents, stored.flat())
  return stored.flat()
}

/** A service of an example over a storage. `config` may be another version of its configuration. */
export async function openSeeded(
  adapter: StorageAdapter,
  example: Example,
  config = example.config,
): Promise<SeededService> {
  const { create } = example
  let time = Date.parse('2030-01-01')
  const service = createTestService(config, { adapter, now: () => time, ...(create ? { create } : {}) })
  await service.handler.ready()
  const steps = await seedSteps(example)
  const { collections } = config as { readonly collections: object }
  return {
    ...service,
    async reset() {
      const removals = Object.keys(collections).map((name): WriteStep => ({ in: name, remove: everything }))
      const result = await adapter.write([...removals, ...steps], {})
      if (!result.ok) throw new Error(JSON.stringify(result))
      time += 1000
    },
    tick() {
      time += 1000
    },
  }
}

/** A person of an example. */
export type Person = { readonly id: string; readonly email: string }

/** The accounts, by the names in their addresses. */
export const peopleOf = ({ users = [] }: Documents): { readonly [name: string]: Person } =>
  Object.fromEntries(users.map(({ _id, email }) => [email.split('@')[0], { id: _id, email }]))

/** Acts as one of the people; by another name, as a stranger. */
export const actAs =
  (service: TestService, caller: Person | undefined) =>
  (line: string, body?: object): Promise<Sent> =>
    service.send(line, { caller: caller ?? null, ...(body ? { body } : {}) })
