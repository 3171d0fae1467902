import { compileConfig } from '../../core/config/compile-config.js'
import type { ServicePlan } from '../../core/config/plan.js'
import { isServiceError } from '../../core/errors.js'
import { seedWhenEmpty } from '../../core/start/seed-when-empty.js'
import type { Deliver, Hasher } from '../../core/types/host.js'
import type { Handler, ServiceOptions } from '../../core/types.js'
import {
  createCollectionService,
  createMemoryAdapter,
  forwardedAddress,
  type StorageAdapter,
} from '../../index.js'
import { findSeededSecrets } from '../insight/check/findings/production.js'
import { createPage } from '../page/index.js'
import type { ArgumentsOf } from './arguments/commands.js'
import { createStorage, nameStorage } from './create-storage.js'
import { loadMigrations } from './load-migrations.js'
import { readJsonFile } from './read-json-file.js'

/** The error for a seed that cannot be stored. Its message lists the validation errors of the documents. */
export class SeedError extends Error {}

/** A service whose storage is open. */
export interface Started {
  readonly handler: Handler
  readonly plan: ServicePlan
  /** Says where the documents are stored; the end of a sentence. */
  readonly place: string
  /** The number of accounts in the seed. */
  readonly seeded: number
}

/** Parts that a restarted service reuses. */
export interface ReusedParts {
  /** Reads the current configuration. Throws `FileError`. */
  readonly readConfig: () => Promise<unknown>
  /** Returns the hasher for a cost of bcrypt. */
  readonly createHasher: (cost: number) => Hasher
  readonly deliver: Deliver | undefined
  /** The options of the service for its log. */
  readonly logging: Pick<ServiceOptions, 'logger' | 'observe'>
}

/**
 * Starts the service that a command line describes. Throws `FileError`, `ConfigError`, `StorageError` and `SeedError`.
 */
export async function startService(
  args: ArgumentsOf<'serve'>,
  { readConfig, createHasher, deliver, logging }: ReusedParts,
): Promise<Started> {
  const config = (await readConfig()) as Parameters<typeof createCollectionService>[0]
  const documents = args.seed === undefined ? undefined : ((await readJsonFile(args.seed)) as SeedDocuments)
  const plan = compileConfig(config, { production: false, hasAuthenticate: false })
  const { adapter, describe } = prepareStorage(args, documents)
  const options: ServiceOptions = {
    openapi: true,
    ...logging,
    basePath: args.basePath,
    ...(args.publicPath === undefined ? {} : { publicPath: args.publicPath }),
    ...(args.proxies ? { clientAddress: forwardedAddress(args.proxies) } : {}),
    ...(args.cors.length > 0 ? { cors: { origins: args.cors.join() === '*' ? '*' : args.cors } } : {}),
    ...(plan.auth ? { hasher: createHasher(plan.auth.cost) } : {}),
    ...(deliver ? { deliver } : {}),
    ...(args.migrates ? { migrate: true, migrations: await loadMigrations(config, args.migrations) } : {}),
    ...(args.page === 'on' ? { page: createPage() } : {}),
  }
  const handler = createCollectionService(config, adapter, options)
  try {
    await handler.ready().catch(explainSeed)
    const seeded = findSeededSecrets(plan, documents).length
    return { handler, plan, place: describe(), seeded }
  } catch (thrown) {
    // The storage is closed, because open connections would keep the process alive.
    await handler.close().catch(() => {})
    throw thrown
  }
}

type SeedDocuments = NonNullable<StorageAdapter['seed']>

/** A storage, and the function that describes it. */
interface Prepared {
  readonly adapter: StorageAdapter
  /** Returns `place` of `Started`. Called once, after the storage was opened and before the first request. */
  describe(): string
}

function prepareStorage(
  { storage, seed }: ArgumentsOf<'serve'>,
  documents: SeedDocuments | undefined,
): Prepared {
  if (!storage) {
    return {
      adapter: createMemoryAdapter(documents === undefined ? {} : { documents }),
      describe: () => 'in memory: documents are lost when this process ends.',
    }
  }
  const adapter = createStorage(storage)
  const name = nameStorage(storage)
  if (documents === undefined) return { adapter, describe: () => `in ${name}.` }
  const seeding = seedWhenEmpty(adapter, documents)
  return {
    adapter: seeding.adapter,
    describe: () =>
      seeding.finish() === 'stored'
        ? `in ${name}, where the documents of ${seed} were stored.`
        : `in ${name}, which already contains documents: ${seed} was not stored.`,
  }
}

/**
 * Throws a `SeedError` for the validation errors of a seed. Any other error, such as a failure of the storage, is
 * thrown again.
 */
export function explainSeed(thrown: unknown): never {
  if (!isServiceError(thrown) || thrown.cause !== undefined) throw thrown
  const faults = thrown.errors.map(({ path, message }) => `  ${path || 'it'} ${message}`)
  const lines = ['The seed cannot be stored:', ...(faults.length > 0 ? faults : [thrown.message])]
  throw new SeedError(lines.join('\n'), { cause: thrown })
}
