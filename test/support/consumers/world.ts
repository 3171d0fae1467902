import { plansOf } from '../../../src/core/changes/log/log-plans.js'
import { compileConfig } from '../../../src/core/config/compile-config.js'
import type { Consumers, createConsumers } from '../../../src/core/consumers/create-consumers.js'
import type { Timing } from '../../../src/core/consumers/timing.js'
import { UNHURRIED } from '../../../src/core/request/deadline.js'
import { createLog, createStore } from '../../../src/core/request/store.js'
import type { Consumer, ConsumerContext, StorageAdapter } from '../../../src/index.js'
import { createMemoryAdapter } from '../../../src/index.js'
import type { FakeTiming } from './fake-timing.js'

const plan = compileConfig(
  {
    collections: {
      notes: { changes: true, schema: { n: { type: 'integer' } } },
      others: { changes: true, schema: { n: { type: 'integer' } } },
    },
  },
  { production: false, hasAuthenticate: true },
)

/** What a handler was told: a document and its number, and more where it matters. */
export interface Told extends ConsumerContext {
  readonly what: string
  readonly by: string
}

/** How a process of a test handles what it is told. */
export type Handle = (told: Told) => unknown

/** A consumer in one process; several of them share a storage and a clock. */
export interface Process extends Consumers {
  readonly told: readonly Told[]
  readonly logged: readonly (readonly unknown[])[]
}

/** Where a process runs. */
export interface Place {
  readonly timing: Timing
  readonly adapter: StorageAdapter
}

/** A storage and the processes over it. */
export interface World {
  readonly adapter: StorageAdapter
  /** Writes a number into a document; `null` deletes it. */
  write(id: string, n: number | null, collection?: string): Promise<void>
  /** Starts a process; `own`: it may have clocks and a way to the storage of its own. */
  start(by: string, handle?: Handle, own?: Partial<Place>): Promise<Process>
  /** What is stored of the consumer. */
  record(): Promise<{ readonly [name: string]: unknown }>
}

const at = { createdAt: '2026-11-20T00:00:00.000Z', createdBy: null }

/** Creates a storage; `over` puts something else before it. */
export type CreateWorld = (
  timing: FakeTiming,
  over?: (inner: StorageAdapter) => StorageAdapter,
) => Promise<World>

/** What holds of consumers, whichever build of them the worlds have. It throws where it does not. */
export type ConsumerLaw = readonly [what: string, check: (createWorld: CreateWorld) => Promise<void>]

/** Creates worlds with a build of consumers. */
export const worldsOf =
  (create: typeof createConsumers): CreateWorld =>
  (timing, over) =>
    openWorld(create, timing, over)

async function openWorld(
  create: typeof createConsumers,
  timing: FakeTiming,
  over: (inner: StorageAdapter) => StorageAdapter = (inner) => inner,
): Promise<World> {
  const inner = createMemoryAdapter()
  const adapter = over(inner)
  await adapter.open(plansOf(plan))
  const versions = new Map<string, number>()
  const world: World = {
    adapter,
    async write(id, n, collection = 'notes') {
      const key = `${collection} ${id}`
      const version = versions.get(key)
      const next = (version ?? 0) + 1
      const document = { _id: id, _version: next, n, ...at, updatedAt: `2026-11-20T00:00:00.${next}Z` }
      const isId = {
        kind: 'eq',
        field: { path: '_id', type: 'string', each: false },
        value: id,
      } as const
      const step = {
        in: collection,
        ...(n === null
          ? { remove: isId }
          : version === undefined
            ? { insert: document }
            : { replace: document, version }),
      }
      const { ok } = await inner.write([step], {})
      if (!ok) throw new Error('the write was refused')
      if (n === null) versions.delete(key)
      else versions.set(key, next)
    },
    async start(by, handle = () => undefined, own = {}) {
      const place = { timing, adapter, ...own }
      const told: Told[] = []
      const logged: unknown[][] = []
      const note = (...entry: unknown[]): void => void logged.push(entry)
      const consumer: Consumer = {
        collections: ['notes'],
        handle({ before, after }, context) {
          const what = `${(after ?? before)?._id}${after?.n ?? '-'}`
          const one = { what, by, ...context }
          told.push(one)
          return handle(one)
        },
      }
      const consumers = create(
        { plan, logger: { info: note, warn: note, error: note } },
        new Map([['mail', consumer]]),
        { log: createLog(place.adapter, () => undefined), store: createStore(place.adapter, UNHURRIED) },
        place.timing,
      )
      await consumers.begin()
      await timing.settle()
      return { ...consumers, told, logged }
    },
    async record() {
      const [record] = await inner.list('_consumers', {
        filter: { kind: 'and', filters: [] },
        sort: [],
        skip: 0,
        limit: null,
      })
      return record ?? {}
    },
  }
  return world
}

/** What was told, in few words. */
export const whats = (told: readonly Told[]): readonly string[] => told.map(({ what }) => what)

/** A process that can be stopped: whatever it asks for is answered when it goes on. */
export function createStoppable({ timing, adapter }: Place): Place & { stop(): void; go(): void } {
  let gate = Promise.resolve()
  let open = (): void => {}
  const { changes } = adapter
  if (!changes) throw new Error('this storage keeps no log')
  return {
    stop() {
      gate = new Promise((resolve) => {
        open = resolve
      })
    },
    go: () => open(),
    timing: {
      ...timing,
      async sleep(milliseconds, signal) {
        await timing.sleep(milliseconds, signal)
        await gate
      },
    },
    adapter: {
      ...adapter,
      async list(...args) {
        await gate
        const listed = await adapter.list(...args)
        await gate
        return listed
      },
      async write(...args) {
        await gate
        const result = await adapter.write(...args)
        await gate
        return result
      },
      async changes(...args) {
        await gate
        const page = await changes(...args)
        await gate
        return page
      },
    },
  }
}
