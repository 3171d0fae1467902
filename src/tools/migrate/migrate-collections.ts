import { plansOf } from '../../core/changes/log/log-plans.js'
import type { ServicePlan } from '../../core/config/plan.js'
import { migrateStorage } from '../../core/migrate/migrate-storage.js'
import type { MigrateFailure, MigrateProgress, MigrateStep } from '../../core/migrate/run-steps.js'
import { ANY, BOOLEAN, type Expectations, FUNCTION, requireOptions } from '../../core/options.js'
import { UNHURRIED } from '../../core/request/deadline.js'
import { createStore } from '../../core/request/store.js'
import type { StorageAdapter } from '../../core/storage.js'
import { renameStorage, storedPlan } from '../../core/stored/names/renamed-storage.js'
import { withoutNewIndexes } from '../../core/stored/record/new-indexes.js'
import { readRecord, SCHEMA_PLAN } from '../../core/stored/record/schema-record.js'
import type { Migrations } from '../../core/types.js'
import { assemble } from './assemble.js'
import { openDryStorage } from './dry-storage.js'

/** The options of a run. */
export interface MigrateOptions {
  /** The code of migrations, by their names in the configuration. Default: none. */
  readonly migrations?: Migrations
  /** Whether to store nothing, and only report what a run would do. Default: false. */
  readonly dryRun?: boolean
  /** Whether to erase, at the end, what the configuration lists in `erase`. Default: false. */
  readonly erase?: boolean
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  /** Ends the run after the current write. It then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Called after each write. */
  readonly onProgress?: (progress: MigrateProgress) => void
  /** Called with each document that a step could not change. */
  readonly onFailed?: (failure: MigrateFailure) => void
}

/** The requirements for these options. The compiler of a service checks the code of migrations. */
const OPTIONS: Expectations = {
  migrations: ANY,
  dryRun: BOOLEAN,
  erase: BOOLEAN,
  now: FUNCTION,
  signal: [(value) => value instanceof AbortSignal, 'an AbortSignal'],
  onProgress: FUNCTION,
  onFailed: FUNCTION,
}

/** The result of a run. */
export interface Migrated {
  /**
   * The steps, in order: those for fields that changed a document or failed, and the migrations that were not finished
   * before, up to the first that could not be finished.
   */
  readonly steps: readonly MigrateStep[]
}

/**
 * Brings stored documents into the form that a configuration requires (CONTRACT.md §7, "Migrating"): gives them the values
 * of `fill`, and the normal form of texts, and runs its migrations. It opens the adapter, and leaves it open. A run that
 * was interrupted is continued by the next one, and a second run changes nothing. Rejects with `ConfigError`, errors of
 * the storage, and the reason of `signal`.
 *
 * @param adapter an adapter that no service has opened
 *
 * @example
 * ```ts
 * const { steps } = await migrateCollections(config, createSqliteAdapter({ file: 'app.db' }), { dryRun: true })
 * ```
 */
export async function migrateCollections(
  config: unknown,
  adapter: StorageAdapter,
  options: MigrateOptions = {},
): Promise<Migrated> {
  requireOptions(options, OPTIONS)
  const { dryRun = false, erase = false, migrations = {}, signal = new AbortController().signal } = options
  const { onProgress = () => {}, onFailed = () => {} } = options
  const service = assemble(config, adapter, options)
  const storage = dryRun ? await openDry(adapter, service.plan) : await openForRun(adapter, service.plan)
  const steps = await migrateStorage(storage, {
    service,
    migrations,
    isDry: dryRun,
    isErasing: erase,
    signal,
    onProgress,
    onFailed,
  })
  return { steps }
}

async function openForRun(adapter: StorageAdapter, plan: ServicePlan): Promise<StorageAdapter> {
  await adapter.open([SCHEMA_PLAN])
  const record = await readRecord(createStore(adapter, UNHURRIED))
  const plans = withoutNewIndexes(plansOf(plan), plan, record)
  await renameStorage(adapter, plan.collections).open([...plans, SCHEMA_PLAN])
  return adapter
}

async function openDry(adapter: StorageAdapter, plan: ServicePlan): Promise<StorageAdapter> {
  const schema = await openDryStorage(adapter, [SCHEMA_PLAN])
  const record = await readRecord(createStore(schema, UNHURRIED))
  const collections = [...plan.collections.values()]
  const known = withoutNewIndexes(
    collections.map(({ storage }) => storage),
    plan,
    record,
  )
  const plans = collections.map((collection, i) => {
    const indexes = known[i]?.indexes ?? []
    return storedPlan({ ...collection, storage: { ...collection.storage, indexes } })
  })
  return openDryStorage(adapter, [...plans, SCHEMA_PLAN])
}
