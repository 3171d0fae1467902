import { SESSIONS } from '../../core/accounts/auth/sessions.js'
import { compileConfig } from '../../core/config/compile-config.js'
import type { ServicePlan } from '../../core/config/plan.js'
import type { Snapshot, StorageAdapter } from '../../core/storage.js'
import type { MaybePromise } from '../../core/types.js'
import { createTally, FORMAT, printLine, type Tallies, type Tally, VERSION } from './dump-format.js'
import { TransferError } from './transfer-error.js'

/** The options of `dump`. */
export interface DumpOptions {
  /** Whether the sessions of accounts are dumped too, so that their tokens stay valid. Default: false. */
  readonly sessions?: boolean
  /** Ends the dump, which then rejects with `interrupted`. */
  readonly signal?: AbortSignal
}

/** The result of `dump`. */
export interface Dumped {
  /** The dumped collections by their stored names, as in the last line of the dump. */
  readonly collections: Tallies
  /** The collections with documents that the configuration does not declare. They are not in the dump. */
  readonly undeclared: readonly string[]
}

/**
 * Writes all documents of a storage, as of one moment, as lines of JSON (CONTRACT.md §7, "Dumps"): those of the declared
 * collections as they are stored, with hashes and versions. Counted logins, delivered tokens, keys, consumers and the
 * log are not in it. Rejects with `TransferError`, `ConfigError` and errors of the storage; the written lines are then
 * an incomplete dump, which `load` rejects.
 *
 * @param storage an adapter that is open and has `snapshot`
 * @param write receives one or more whole lines, of some MiB, and may return a promise for which the dump waits
 *
 * @example
 * ```ts
 * const lines: string[] = []
 * await dump(config, adapter, (text) => void lines.push(text))
 * ```
 */
export async function dump(
  config: unknown,
  storage: Pick<StorageAdapter, 'snapshot'>,
  write: (text: string) => MaybePromise<unknown>,
  { sessions = false, signal }: DumpOptions = {},
): Promise<Dumped> {
  const plan = compileForTransfer(config)
  if (sessions) requireAccounts(plan)
  if (!storage.snapshot)
    throw new TransferError('no_snapshot', 'the adapter cannot be dumped, because it has no snapshot()')
  const declared = Array.from(plan.collections.values(), ({ storedName }) => storedName)
  const names = [...declared, ...(sessions ? [SESSIONS] : [])]
  const tallies = new Map(names.map((name) => [name, createTally()]))
  const snapshot = await storage.snapshot()
  const send = async (text: string): Promise<void> => {
    await write(text)
    if (signal?.aborted)
      throw new TransferError('interrupted', 'the dump was interrupted, and is incomplete', {
        cause: signal.reason,
      })
  }
  try {
    const stored = await snapshot.collections()
    requireStored(stored, declared)
    await send(printLine({ format: FORMAT, version: VERSION, collections: names }))
    for (const [name, tally] of tallies) await dumpCollection(snapshot, name, tally, send)
    const undeclared = await findUndeclared(snapshot, stored, declared)
    const collections = Object.fromEntries(Array.from(tallies, ([name, tally]) => [name, tally.result()]))
    await send(printLine({ end: collections }))
    return { collections, undeclared }
  } finally {
    // The first error is the cause.
    await snapshot.close().catch(() => {})
  }
}

async function dumpCollection(
  snapshot: Snapshot,
  name: string,
  tally: Tally,
  send: (text: string) => Promise<void>,
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await snapshot.next(name, after)
    const last = page.at(-1)
    if (!last) return
    for (const document of page) tally.add(document)
    await send(page.map((document) => printLine({ in: name, document })).join(''))
    after = last._id
  }
}

/** Throws `TransferError` for another storage than that of the service. Its dump would be empty. */
function requireStored(stored: readonly string[], declared: readonly string[]): void {
  if (declared.length === 0 || stored.some((name) => declared.includes(name))) return
  const others = stored.filter((name) => !name.startsWith('_')).sort()
  throw new TransferError(
    'no_collections',
    `the storage has none of the collections of the configuration (${declared.join(', ')}), but ${others.join(', ') || 'no collections'}: name the storage that a service with this configuration has opened`,
  )
}

/** Finds collections with documents that are neither declared nor internal: the names of internal ones begin with `_`. */
async function findUndeclared(
  snapshot: Snapshot,
  stored: readonly string[],
  declared: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = []
  for (const name of stored)
    if (!name.startsWith('_') && !declared.includes(name) && (await snapshot.next(name, '')).length > 0)
      found.push(name)
  return found.sort()
}

/** Compiles a configuration like a service in development. Throws `ConfigError`. */
export const compileForTransfer = (config: unknown): ServicePlan =>
  compileConfig(config, { production: false, hasAuthenticate: false })

/** Throws `TransferError` if the configuration keeps no accounts, and hence no sessions. */
export function requireAccounts({ auth }: ServicePlan): void {
  if (!auth)
    throw new TransferError(
      'no_accounts',
      'there are no sessions, because the configuration keeps no accounts',
    )
}
