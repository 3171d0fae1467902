import { describe, test } from 'vitest'
import { drawFirstVersion } from '../../src/core/first-version.js'
import { createCollectionService, type StoredDocument } from '../../src/index.js'
import { idOf, LONG_AGO } from '../support/stored.js'
import { rounds } from '../support/tier.js'
import { readStore } from './support/service.js'
import { connect, engines, type Store } from './support/stores.js'
import { endWorkers, startMigrator, type Worker } from './support/workers.js'

// CONTRACT.md §7, "Migrating"

/** Runs that are killed, and that have others beside them. */

endWorkers()

const ROUNDS = rounds(2, 50)

/** As many documents as ten writes of a run change. */
const DOCUMENTS = 200

const WRITERS = 8

const text = { type: 'string' } as const

/** The configuration with so many migrations, each of which adds one to `n`. */
const configOf = (count: number, more: object = {}) => ({
  collections: {
    things: { schema: { n: { type: 'integer' }, w: { type: 'integer' }, ...more }, permissions: {} },
    logs: { schema: { of: text, by: text }, permissions: {} },
  },
  migrations: Array.from({ length: count }, (_, i) => `m${i + 1}`),
})

/** Stores the documents under the configuration without migrations. */
async function fill(store: Store): Promise<void> {
  const adapter = connect(store)
  const options = { production: false, logger: { info() {}, warn() {}, error() {} } }
  const handler = createCollectionService(configOf(0), adapter, options)
  await handler.ready()
  const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
  const steps = Array.from({ length: DOCUMENTS }, (_, i) => ({
    in: 'things',
    insert: { _id: idOf(i + 1), _version: drawFirstVersion(), n: 0, w: 0, ...system },
  }))
  const { ok } = await adapter.write(steps, {})
  if (!ok) throw new Error('the documents could not be stored')
  await handler.close()
}

interface Step {
  readonly name: string
  readonly done: number
  readonly failed: number
}

type Thing = StoredDocument & { readonly n: number; readonly w: number }

/** Reads the documents, and how many were made of each by a migration. */
async function read(store: Store, migration: string) {
  const things = (await readStore(store, 'things')) as readonly Thing[]
  const made = new Map<unknown, number>()
  for (const log of await readStore(store, 'logs')) {
    const { of, by } = log as StoredDocument & { readonly of?: unknown; readonly by?: unknown }
    if (by === migration) made.set(of, (made.get(of) ?? 0) + 1)
  }
  return { things, made }
}

// Side by side: most of the time each waits.
describe.concurrent.each(engines)('%s', (_, useStores) => {
  const stores = useStores()

  test(`a run that is killed is continued, and each document is migrated once, ${ROUNDS} times`, {
    timeout: 1_800_000,
  }, async ({ expect }) => {
    const store = stores.create()
    await fill(store)
    let next = startMigrator(true)
    for (let round = 1; round <= ROUNDS; round++) {
      const killed = next
      next = startMigrator(true)
      const config = configOf(round)
      killed.begin('migrate', { config, store })
      // A run tells of every twenty documents.
      const place = 20 * (1 + Math.floor(Math.random() * 9))
      await killed.printed(new RegExp(`^at m${round} ${place}$`))
      await killed.kill()
      const half = await read(store, `m${round}`)
      for (const { _id, n } of half.things) {
        expect([round - 1, round]).toContain(n)
        // A document and what is made of it are one write.
        expect(half.made.get(_id) ?? 0).toBe(n - round + 1)
      }
      const before = half.things.filter(({ n }) => n === round).length
      expect(before).toBeGreaterThanOrEqual(place)
      const steps = await next.run('migrate', { config, store })
      expect(steps).toMatchObject([{ name: `m${round}`, done: DOCUMENTS - before, failed: 0 }])
      const whole = await read(store, `m${round}`)
      expect(whole.things.filter(({ n }) => n !== round)).toEqual([])
      expect([...whole.made.values()].filter((count) => count !== 1)).toEqual([])
      await next.kill()
      next = startMigrator(true)
    }
    await next.kill()
  })

  test('two runs beside eight writers migrate each document once, and lose no write', {
    timeout: 600_000,
  }, async ({ expect }) => {
    const store = stores.create()
    await fill(store)
    const runners = [startMigrator(), startMigrator()]
    let isOver = false
    const written = new Map<string, number>()
    const write = async (writer: number): Promise<void> => {
      const adapter = connect(store)
      await adapter.open([])
      for (let i = writer; !isOver; i += 7) {
        const id = idOf(1 + (i % DOCUMENTS))
        const filter = { kind: 'eq', field: { path: '_id', type: 'string', each: false }, value: id } as const
        const [found] = await adapter.list('things', { filter, sort: [], skip: 0, limit: 1 })
        if (!found) throw new Error('a document is gone')
        const thing = found as Thing
        const replace = { ...thing, w: thing.w + 1, _version: thing._version + 1 }
        const { ok } = await adapter.write([{ in: 'things', replace, version: thing._version }], {})
        if (ok) written.set(id, (written.get(id) ?? 0) + 1)
        // A tight loop would leave no time to the runs.
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await adapter.close()
    }
    const writing = Array.from({ length: WRITERS }, (_, i) => write(i))
    const config = configOf(2, { lang: { ...text, required: true, fill: 'en' } })
    const run = (runner: Worker) => runner.run<readonly Step[]>('migrate', { config, store })
    const runs = await Promise.all(runners.map(run)).finally(async () => {
      isOver = true
      await Promise.all(writing)
    })
    const steps = runs.flat()
    expect(steps.filter(({ failed }) => failed > 0)).toEqual([])
    for (const name of config.migrations) {
      const done = steps.filter((step) => step.name === name).reduce((sum, step) => sum + step.done, 0)
      expect([name, done]).toEqual([name, DOCUMENTS])
      const { made } = await read(store, name)
      expect([made.size, [...made.values()].filter((count) => count !== 1)]).toEqual([DOCUMENTS, []])
    }
    const { things } = await read(store, 'm1')
    expect(things.map(({ n }) => n)).toEqual(things.map(() => 2))
    expect(things.filter((thing) => (thing as { lang?: unknown }).lang !== 'en')).toEqual([])
    // Each write that was acknowledged is there, and no other.
    expect(things.map(({ _id, w }) => [_id, w])).toEqual(
      things.map(({ _id }) => [_id, written.get(_id) ?? 0]),
    )
    expect([...written.values()].reduce((sum, one) => sum + one, 0)).toBeGreaterThan(WRITERS)
  })
})
