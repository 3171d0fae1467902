import { ConfigError, type ConfigFault, ServiceError } from '../../errors.js'
import { ID, isId, or } from '../../filter/filter.js'
import type { StorageAdapter, StoredDocument, WriteResult, WriteStep } from '../../storage.js'
import { createStatements, type FilteredStatement } from '../sql/statements.js'
import { streamByIds } from '../sql/stream-by-ids.js'
import { filterConflicting } from '../sql/unique-conflict.js'
import { createStepWriter, type Outcome, type Taken } from './apply-steps.js'
import { type Connections, createConnections, type RunStatement, retry } from './connections.js'
import { createStructures, type Place, readUniqueIndexes } from './create-structures.js'
import { constraintOf, explain, isInvalidRegex, isLost, unavailable } from './faults.js'
import { borrowPool, createPool, type PostgresPool } from './pool.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { parseDocuments, readInCore } from './read-in-core.js'

export type { PostgresClient, PostgresPool } from './pool.js'

/** Either a `connectionString`, for a pool of the adapter's own, or a `pool` of the host's. */
export interface PostgresAdapterOptions {
  /** `postgres://user:password@host:5432/database`, with the parameters that `pg` knows. */
  readonly connectionString?: string
  /** A `Pool` of `pg`: taken as it is, never ended. */
  readonly pool?: PostgresPool
  /** Where the tables lie; made where it is missing. Default: `collection_service`. */
  readonly schema?: string
  /** Whether missing tables and indexes are created; `false` refuses to open and says what SQL is missing. Default: true. */
  readonly migrate?: boolean
}

const DEFAULT_SCHEMA = 'collection_service'

/**
 * Keeps documents in PostgreSQL 12 or later, through `pg`, which the host installs: a table for each collection, the
 * document as `jsonb`, an index for each unique and indexed field. Throws `ConfigError`.
 */
export function createPostgresAdapter(options: PostgresAdapterOptions): StorageAdapter {
  const { connectionString, pool, schema = DEFAULT_SCHEMA, migrate = true } = checkOptions(options)
  const dialect = createPostgresDialect(schema)
  const place: Place = { schema, dialect }
  const statements = createStatements(dialect, parameterOf)
  const writer = createStepWriter(dialect, statements)
  let connections: Promise<Connections> | undefined

  const connect = async (): Promise<Connections> =>
    createConnections(pool ? borrowPool(pool) : await createPool(connectionString ?? ''))

  const use = async <T>(
    work: (run: RunStatement) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    if (!connections) throw unavailable(new Error('the adapter is not open'))
    return (await connections).use(work, signal)
  }

  /** Reads; again with the patterns left to the core where PostgreSQL cannot compile one. */
  const read = async <T>(
    compile: (skipPatterns: boolean) => FilteredStatement,
    work: (run: RunStatement, statement: FilteredStatement) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    for (const skipPatterns of [false, true]) {
      const statement = compile(skipPatterns)
      try {
        return await retry(() => use((run) => work(run, statement), signal), signal)
      } catch (thrown) {
        if (skipPatterns || !isInvalidRegex(thrown)) throw explain(thrown)
      }
    }
    throw new Error('a statement without patterns has an invalid one')
  }

  /** Which unique index refused: the first in the order of their creation, not the one that the engine asked first. */
  const nameTaken = (collection: string, { document, isNew, cause }: Taken): Promise<readonly string[]> =>
    use(async (run) => {
      const indexes = await readUniqueIndexes(run, place, collection)
      const candidates = [
        ...(isNew ? [{ fields: [ID], conflicting: isId(document._id) }] : []),
        ...indexes.map(({ fields }) => ({ fields, conflicting: filterConflicting(fields, document) })),
      ]
      for (const { fields, conflicting } of candidates) {
        if (!conflicting) continue
        const { text, values } = statements.count(collection, conflicting)
        const { rows } = await run(text, values)
        if (Number(rows[0]?.total) > 0) return fields.map(({ path }) => path)
      }
      // Another step of the same write holds the value, or it has been free again since.
      const constraint = constraintOf(cause)
      return (indexes.find(({ name }) => name === constraint)?.fields ?? [ID]).map(({ path }) => path)
    }, undefined)

  const write = async (
    steps: readonly WriteStep[],
    signal: AbortSignal | undefined,
  ): Promise<WriteResult> => {
    const [first] = steps
    if (!first) return { ok: true, removed: 0 }
    const attempt = (): Promise<Outcome> =>
      use(
        (run) => (writer.isSingle(steps) ? writer.applySingle(run, first) : writer.applyAll(run, steps)),
        signal,
      )
    const outcome = await retry(attempt, signal)
    if (!('taken' in outcome)) return outcome
    const { step } = outcome.taken
    const fields = await nameTaken(steps[step]?.in ?? '', outcome.taken)
    return { ok: false, step, reason: 'unique', fields }
  }

  return {
    async open(plans) {
      connections ??= connect().catch((thrown: unknown) => {
        connections = undefined
        throw thrown
      })
      try {
        await retry(() => use((run) => createStructures(run, place, plans, migrate), undefined), undefined)
      } catch (thrown) {
        // Of all that is not the connection, whoever starts the service has to hear.
        throw isLost(thrown) ? unavailable(thrown) : thrown
      }
    },
    list: (collection, { filter, sort, skip, limit, signal }) =>
      read(
        (skipPatterns) => statements.list(collection, { filter, sort, skip, limit }, { skipPatterns }),
        async (run, statement) => {
          if (statement.isExact) return parseDocuments(await run(statement.text, statement.values))
          const found: StoredDocument[] = []
          const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
          let passed = 0
          await readInCore(run, statement, filter, (document) => {
            if (passed >= skip && passed < end) found.push(document)
            passed += 1
            return passed < end
          })
          return found
        },
        signal,
      ),
    async *stream(collection, query) {
      const { filter, sort, skip, limit, signal } = query
      const listed = await read(
        (skipPatterns) => statements.ids(collection, { filter, sort, skip, limit }, { skipPatterns }),
        async (run, { text, values, isExact }) => {
          // One text of all ids takes a fraction of what a row for each would.
          const { rows } = await run(`SELECT json_agg(_id)::text AS ids FROM (${text}) AS listed`, values)
          return { ids: JSON.parse(String(rows[0]?.ids ?? '[]')) as readonly string[], isExact }
        },
        signal,
      )
      yield* streamByIds(listed, query, (ids) =>
        read(
          () => statements.list(collection, { filter: or(ids.map(isId)), sort: [], skip: 0, limit: null }),
          async (run, statement) => parseDocuments(await run(statement.text, statement.values)),
          signal,
        ),
      )
    },
    count: (collection, filter, { signal }) =>
      read(
        (skipPatterns) => statements.count(collection, filter, { skipPatterns }),
        async (run, statement) => {
          if (statement.isExact) return Number((await run(statement.text, statement.values)).rows[0]?.total)
          let total = 0
          await readInCore(run, statement, filter, () => {
            total += 1
            return true
          })
          return total
        },
        signal,
      ),
    async write(steps, { signal }) {
      try {
        return await write(steps, signal)
      } catch (thrown) {
        throw signal?.aborted ? abandoned(thrown) : explain(thrown)
      }
    },
    async close() {
      const closing = connections
      connections = undefined
      await (await closing)?.close()
    },
  }
}

/** Nobody knows how far a write came that was given up. */
const abandoned = (cause: unknown): ServiceError =>
  new ServiceError('outcome_unknown', 'The write was given up.', { cause })

/** A parameter with its type, which PostgreSQL cannot always tell. */
function parameterOf(place: number, value: unknown): string {
  const type = typeof value === 'number' ? 'float8' : typeof value === 'boolean' ? 'boolean' : 'text'
  return `$${place}::${type}`
}

const OPTIONS: { readonly [name: string]: readonly [isValid: (value: unknown) => boolean, allowed: string] } =
  {
    connectionString: [(value) => typeof value === 'string' && value !== '', 'a URL of PostgreSQL'],
    pool: [
      (value) => typeof (value as PostgresPool | null)?.connect === 'function',
      'a Pool of the package pg',
    ],
    schema: [
      (value) => typeof value === 'string' && /^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/.test(value),
      'letters, digits and underscores, at most 63',
    ],
    migrate: [(value) => typeof value === 'boolean', 'true or false'],
  }

function checkOptions(options: unknown): PostgresAdapterOptions {
  const given = new Map(Object.entries(typeof options === 'object' && options !== null ? options : {}))
  const faults: ConfigFault[] = []
  for (const [name, value] of given) {
    const [isValid, allowed] = (Object.hasOwn(OPTIONS, name) && OPTIONS[name]) || []
    if (!isValid)
      faults.push({ path: name, message: `is unknown; allowed: ${Object.keys(OPTIONS).join(', ')}` })
    else if (value !== undefined && !isValid(value))
      faults.push({ path: name, message: `must be ${allowed}` })
  }
  if ((given.get('connectionString') === undefined) === (given.get('pool') === undefined))
    faults.push({ path: '', message: 'needs either a connectionString or a pool' })
  if (faults.length > 0) throw new ConfigError(faults)
  return options as PostgresAdapterOptions
}
