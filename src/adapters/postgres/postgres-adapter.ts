import { ConfigError } from '../../core/errors.js'
import { isObject } from '../../core/json/own-properties.js'
import { BOOLEAN, type Expectations, judgeOptions } from '../../core/options.js'
import type { CollectionPlan, IndexPlan, StorageAdapter } from '../../core/storage.js'
import { LogPlans } from '../log/log-plans.js'
import { UnusableStorage } from '../sql/faults.js'
import { isOfElements, soughtIndexes } from '../sql/structures.js'
import { createPool, splitHosts } from './connection/hosts.js'
import { Connections } from './connection/lease.js'
import { borrowPool, type PostgresPool } from './connection/pool.js'
import { explain, isLost, isTooLong, isUndefined, unavailable } from './faults.js'
import { LAYOUT } from './layout.js'
import { createPostgresLog } from './log/postgres-log.js'
import { createPostgresEngine, DEFAULT_SCHEMA } from './postgres-engine.js'
import { createAggregate } from './read/aggregate.js'
import { createReadLinked } from './read/linked.js'
import { createReads } from './read/reads.js'
import { openSnapshot } from './read/snapshot.js'
import { createListTogether } from './read/together.js'
import {
  createDropSurplus,
  createMissing,
  dropUnique,
  explainOpening,
  readLeft,
  settleLayout,
} from './structures/create-missing.js'
import { createWrite } from './write/write-steps.js'

export type { PostgresClient, PostgresPool } from './connection/pool.js'

/**
 * The options of the adapter: either a `connectionString`, from which it creates its own pool, or a `pool` of the
 * host application.
 */
export interface PostgresAdapterOptions {
  /**
   * A URL like `postgres://user:password@host:5432/database`, with the parameters of `pg`. It may list several hosts,
   * as in `a:5432,b:5432,c:5432`, of which one accepts writes. The adapter finds this host, and finds the new one
   * after a fail-over. With `target_session_attrs=read-write`, the adapter also checks a single host, such as a
   * proxy.
   */
  readonly connectionString?: string
  /**
   * A `Pool` of `pg`. The adapter neither changes nor ends it. A write with a single statement waits for locks as
   * long as the `lock_timeout` of this pool allows; on the adapter's own connections, it waits at most 5 seconds.
   */
  readonly pool?: PostgresPool
  /** The schema of the tables, created if missing. Default: `collection_service`. */
  readonly schema?: string
  /**
   * Whether to create missing tables and indexes. With `false`, opening the service rejects if some are missing, with
   * the SQL that creates them in the message. Default: true.
   */
  readonly migrate?: boolean
}

/** Retries a read once if its connection was lost (CONTRACT.md §10, "Several hosts"). */
const repeatReads =
  (use: Connections['use']): Connections['use'] =>
  (work, caller, manner) =>
    use(work, caller, manner).catch((thrown: unknown) => {
      if (!isLost(thrown) || caller.signal?.aborted) throw thrown
      return use(work, caller, manner)
    })

/** The calls whose statements use tables of elements. */
type Calls = Required<
  Pick<StorageAdapter, 'list' | 'stream' | 'count' | 'aggregate' | 'write' | 'readLinked' | 'listTogether'>
>

/**
 * Retries calls that fail because a table of elements was dropped. Another service drops such a table if it needs
 * longer strings than the table can contain. `forget` stops reads from using tables of elements. It returns false if
 * they used none.
 */
function withoutDropped(calls: Calls, forget: () => boolean): Calls {
  const again = async <T>(call: () => T | Promise<T>): Promise<T> => {
    try {
      return await call()
    } catch (thrown) {
      if (!isUndefined(thrown) || !forget()) throw thrown
    }
    return call()
  }
  return {
    list: (collection, query) => again(() => calls.list(collection, query)),
    count: (collection, filter, options) => again(() => calls.count(collection, filter, options)),
    aggregate: (collection, query) => again(() => calls.aggregate(collection, query)),
    write: (steps, options) => again(() => calls.write(steps, options)),
    readLinked: (linked, options) => again(() => calls.readLinked(linked, options)),
    listTogether: (lists, options) => again(() => calls.listTogether(lists, options)),
    async *stream(collection, query) {
      let hasBegun = false
      try {
        for await (const some of calls.stream(collection, query)) {
          hasBegun = true
          yield some
        }
      } catch (thrown) {
        if (hasBegun || !isUndefined(thrown) || !forget()) throw thrown
        yield* calls.stream(collection, query)
      }
    },
  }
}

/**
 * Creates an adapter that stores documents in PostgreSQL 12 or later. Each collection is a table with the documents as
 * `jsonb`, and each unique or indexed field has an index. The host application must install the package `pg`. Throws a
 * `ConfigError` for invalid options.
 *
 * @example
 * ```ts
 * const adapter = createPostgresAdapter({ connectionString: 'postgres://user:password@localhost/notes' })
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createPostgresAdapter(options: PostgresAdapterOptions): StorageAdapter {
  const { connectionString, pool, schema = DEFAULT_SCHEMA, migrate = true } = checkOptions(options)
  const asked = new Map<string, CollectionPlan>()
  const indexes = new Map<string, readonly IndexPlan[]>()
  const indexesOf = (collection: string): readonly IndexPlan[] => indexes.get(collection) ?? NO_INDEXES
  let layout = LAYOUT
  const engine = createPostgresEngine(schema, indexesOf, () => layout)
  const { dialect } = engine
  let connecting: Promise<Connections> | undefined
  let closed: Promise<unknown> = Promise.resolve()
  let connections: Connections | undefined

  const connect = async (): Promise<Connections> =>
    new Connections(pool ? borrowPool(pool) : await createPool(connectionString ?? ''))

  const use: Connections['use'] = (work, caller, manner) =>
    connections?.use(work, caller, manner) ??
    Promise.reject(unavailable(new Error('the adapter is not open')))

  const logPlans = new LogPlans()
  const read = repeatReads(use)
  const log = createPostgresLog(dialect, logPlans, read)
  const uniqueOf = (collection: string): readonly IndexPlan[] =>
    (asked.get(collection)?.indexes ?? NO_INDEXES).filter(({ unique }) => unique)
  const write = createWrite(engine, use, logPlans, uniqueOf)
  const dropSurplus = createDropSurplus(use, { schema, engine }, asked)

  const source = {
    engine,
    use: read,
    isOpen: () => connections !== undefined,
    isFullOfLong: () => connections?.isFullOfLong() ?? false,
    indexesOf,
  }
  const calls: Calls = {
    ...createReads(source),
    ...createAggregate(source),
    ...createReadLinked(source),
    ...createListTogether(source),
    async write(steps, caller) {
      try {
        const result = await write(steps, caller).catch(async (thrown: unknown) => {
          if (!migrate || !isTooLong(thrown)) throw thrown
          await dropSurplus(steps, caller)
          return write(steps, caller)
        })
        if (result.ok && logPlans.records(steps)) log.noteWrite(steps)
        return result
      } catch (thrown) {
        throw explain(thrown)
      }
    },
  }

  return {
    system: 'postgresql',
    async open(plans) {
      connecting ??= connect()
      const own = connecting
      try {
        const opened = await own.catch((thrown: unknown) => {
          if (connecting === own) connecting = undefined
          throw thrown
        })
        if (connecting !== own) throw unavailable(new Error('the adapter was closed'))
        connections = opened
        layout = await settleLayout(opened.use, schema, plans, migrate)
        await createMissing(opened.use, { schema, engine }, logPlans.joined(plans), migrate)
        logPlans.add(plans)
        for (const plan of plans) {
          asked.set(plan.name, plan)
          indexes.set(plan.name, soughtIndexes(plan, dialect))
        }
      } catch (thrown) {
        throw await explainOpening(connections?.use, schema, thrown)
      }
    },
    ...withoutDropped(calls, () => forgetElements(indexes)),
    changes: log.changes,
    snapshot: () => openSnapshot(engine, use),
    leftUnique: (plans, options) =>
      readLeft(read, { schema, engine }, plans, options).catch((thrown: unknown) => {
        throw explain(thrown)
      }),
    async dropUnique(collection, fields) {
      try {
        if (!migrate)
          throw new UnusableStorage(
            'with migrate: false, the adapter changes no indexes: use an adapter without this option',
          )
        await dropUnique(use, { schema, engine }, { collection, fields })
      } catch (thrown) {
        throw await explainOpening(connections?.use, schema, thrown)
      }
    },
    async close() {
      const opened = connecting?.catch(() => undefined)
      connecting = undefined
      connections = undefined
      const before = closed
      closed = (async () => (await opened)?.close(log.settle()))()
      await Promise.all([before, closed])
    },
  }
}

const NO_INDEXES: readonly IndexPlan[] = []

/** Drops the indexes of elements, so that reads no longer use their tables. Returns whether there were any. */
function forgetElements(indexes: Map<string, readonly IndexPlan[]>): boolean {
  const using = [...indexes].filter(([, some]) => some.some(isOfElements))
  for (const [collection, some] of using)
    indexes.set(
      collection,
      some.filter((index) => !isOfElements(index)),
    )
  return using.length > 0
}

const OPTIONS: Expectations = {
  connectionString: [
    (value) => typeof value === 'string' && /^postgres(?:ql)?:\/\//i.test(value),
    'a PostgreSQL URL, like postgres://user:password@host:5432/database',
  ],
  pool: [
    (value) => typeof (value as PostgresPool | null)?.connect === 'function',
    'a Pool of the package pg',
  ],
  schema: [
    (value) => typeof value === 'string' && /^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/.test(value),
    'a name of at most 63 letters, digits and underscores that does not begin with a digit',
  ],
  migrate: BOOLEAN,
}

function checkOptions(options: unknown): PostgresAdapterOptions {
  const given: Partial<PostgresAdapterOptions> = isObject(options) ? options : {}
  const faults = [...judgeOptions(given, OPTIONS)]
  if ((given.connectionString === undefined) === (given.pool === undefined))
    faults.push({ path: '', message: 'must contain either connectionString or pool, but not both' })
  const { connectionString } = given
  if (faults.length === 0 && connectionString !== undefined) {
    try {
      splitHosts(connectionString)
    } catch (thrown) {
      faults.push({ path: 'connectionString', message: (thrown as Error).message })
    }
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return given
}
