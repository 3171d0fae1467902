import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type Config,
  createCollectionService,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { type MigrateDocument, type Migrations, migrateCollections } from '../../src/tools/migrate/index.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { configOf, drawChange, drawPair, drawShape, LOGS, type Shape } from './schema-change-worlds.js'
import { LONG_AGO } from './stored.js'
import { seedOf } from './tier.js'

/** What runs were about. */
export interface SeenRuns {
  runs: number
  /** How many documents were changed, removed or made. */
  changed: number
  /** How many steps had documents that failed. */
  failed: number
}

/** How many configurations follow one another. */
const MOST = 4

type Stored = ReadonlyMap<string, StoredDocument>

/** Reads everything that is stored in a collection. */
async function readAll(adapter: StorageAdapter, collection: string): Promise<Stored> {
  const found = await adapter.list(collection, { filter: everything, sort: [], skip: 0, limit: null })
  return new Map(found.map((document) => [document._id, document]))
}

/** Counts how often each document is evaluated. */
function countCalls(migrations: Migrations, calls: Map<string, number>): Migrations {
  const counted =
    (name: string, migrate: MigrateDocument): MigrateDocument =>
    (document) => {
      const key = `${name} ${document._id}`
      calls.set(key, (calls.get(key) ?? 0) + 1)
      return migrate(document)
    }
  return Object.fromEntries(
    Object.entries(migrations).map(([name, { collections }]) => [
      name,
      {
        collections: Object.fromEntries(
          Object.entries(collections).map(([stored, migrate]) => [stored, counted(name, migrate)]),
        ),
      },
    ]),
  )
}

/**
 * The laws of runs (CONTRACT.md §7, "Migrating") over random stores and changes of the configuration: a dry run changes
 * nothing and says what the run does, each document is migrated once, its times stay, and a second run writes nothing. Throws
 * on a counterexample.
 */
export async function checkRuns(
  worlds: number,
  create: () => () => StorageAdapter,
  first = 1,
): Promise<SeenRuns> {
  const seen: SeenRuns = { runs: 0, changed: 0, failed: 0 }
  for (let seed = first; seed < first + worlds; seed++) {
    const random = createRandom(seedOf(50_000 + seed))
    let shape = drawShape(random)
    const [drawn] = drawPair(random, shape)
    // A text that is no time cannot be brought into the form of one.
    const documents = drawn.map((one) => ('at' in one && random.chance(0.2) ? { ...one, at: 'soon' } : one))
    const connect = create()
    await start(connect(), shape, async (adapter) => {
      const steps = documents.map((insert) => ({ in: 'notes', insert: insert as StoredDocument }))
      expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
    })
    for (let step = 1; step <= MOST; step++) {
      const change = drawChange(random, shape, step)
      const what = `seed ${seed}: ${JSON.stringify([shape, change.shape].map(configOf))}`
      shape = change.shape
      const config = configOf(shape) as unknown as Config
      const adapter = connect()
      await adapter.open([])
      const before = await readAll(adapter, 'notes')
      const now = (): number => Date.parse('2026-06-01T00:00:00.000Z')
      const options = { migrations: change.migrations, erase: change.isErasing ?? false, now }
      const dry = await migrateCollections(config, adapter, { ...options, dryRun: true })
      expect(await readAll(adapter, 'notes'), what).toEqual(before)
      const calls = new Map<string, number>()
      const migrations = countCalls(change.migrations, calls)
      const run = await migrateCollections(config, adapter, { ...options, migrations })
      expect(run.steps, what).toEqual(dry.steps)
      expect(
        [...calls.values()].filter((count) => count !== 1),
        what,
      ).toEqual([])
      const after = await readAll(adapter, 'notes')
      for (const [id, { createdAt, updatedAt }] of after as ReadonlyMap<string, StoredDocument & Times>)
        expect([id, createdAt, updatedAt], what).toEqual([id, LONG_AGO, LONG_AGO])
      const logs = await readAll(adapter, LOGS)
      const again = await migrateCollections(config, adapter, options)
      // What fails once fails again, unless a later migration has removed it.
      const failed = run.steps.flatMap((one) => {
        const ids = one.ids.filter((id) => after.has(id))
        return ids.length > 0 ? [{ ...one, done: 0, failed: ids.length, ids }] : []
      })
      expect(again.steps, what).toEqual(failed)
      seen.failed += failed.length
      expect([await readAll(adapter, 'notes'), await readAll(adapter, LOGS)], what).toEqual([after, logs])
      await adapter.close()
      seen.runs += 1
      for (const [id, document] of before)
        if (after.get(id)?._version !== document._version) seen.changed += 1
      // A configuration that does not fit, because a name has other values, ends the row.
      if (!(await start(connect(), shape))) break
    }
  }
  return seen
}

interface Times {
  readonly createdAt?: unknown
  readonly updatedAt?: unknown
}

/** Starts a configuration, so that the storage records it. Returns whether it fits. */
async function start(
  adapter: StorageAdapter,
  shape: Shape,
  use: (adapter: StorageAdapter) => Promise<void> = async () => {},
): Promise<boolean> {
  const logger = { info() {}, warn() {}, error() {} }
  const options = { authenticate: () => null, production: false, logger }
  const handler = createCollectionService(configOf(shape) as unknown as Config, adapter, options)
  try {
    await handler.ready()
    await use(adapter)
    return true
  } catch (cause) {
    if (!(cause instanceof Error) || cause.name !== 'ConfigError') throw cause
    return false
  } finally {
    await handler.close()
  }
}
