import { DELIVERIES_PLAN } from '../accounts/auth/deliveries.js'
import { LEDGERS_PLAN } from '../accounts/auth/ledger.js'
import { SESSIONS_PLAN } from '../accounts/auth/sessions.js'
import { plansOf } from '../changes/log/log-plans.js'
import { isObject } from '../json/own-properties.js'
import type { Service } from '../request/call.js'
import { AT_START } from '../request/deadline.js'
import { createStore } from '../request/store.js'
import { endOfTurn } from '../slices.js'
import type { CollectionPlan, StorageAdapter } from '../storage.js'
import { originOf } from '../stored/names/renamed-storage.js'
import { compareRecord, isCurrent, type KnownRecord, reserveNames } from '../stored/record/compare-record.js'
import { withoutNewIndexes } from '../stored/record/new-indexes.js'
import {
  describeProcess,
  LINE_COUNTS,
  type ProcessLine,
  type StoredSchema,
} from '../stored/record/process-lines.js'
import { noteCreated, SCHEMA_PLAN } from '../stored/record/schema-record.js'
import type { MaybePromise } from '../types.js'
import type { ProcessWatch } from './process-watch.js'
import { isSeeded, storeSeed } from './store-seed.js'
import { warnOfStored } from './warn-of-stored.js'

/** The state of a service: `closed` before its first opening, `failed` after an opening that failed. */
export type LifecycleState = 'closed' | 'opening' | 'failed' | 'open' | 'closing'

/** Opens the storage once, and closes it after the last request. */
export interface Lifecycle {
  /** Opens the storage, if it is not open. Rejects with the cause. A later call tries again, at most once a second. */
  open(): MaybePromise<undefined>
  isOpen(): boolean
  state(): LifecycleState
  close(): Promise<void>
  /** Counts work for which `close` waits, until the returned function is called. */
  track(): () => void
  /** Counts a response that is being sent. It may take as long as its client reads. */
  trackAnswer(): Answering
}

/** A response that is being sent. */
export interface Answering {
  /** Notes that the client has read another part. */
  goesOn(): void
  end(): void
}

/** Work that begins when the storage is open, and ends before the storage is closed. */
export interface Worker {
  begin(): Promise<void>
  end(): Promise<void>
}

/** What a start does besides opening the storage. */
interface StartWork {
  readonly watch: ProcessWatch
  readonly worker?: Worker | undefined
  /** Migrates the stored documents. */
  readonly migrate?: (() => Promise<void>) | undefined
}

/**
 * Opens a storage as far as its record needs, and stores the line of this process: all of it if no plan has a unique index,
 * otherwise only the collection of the record. If the storage cannot be used as it is, the error is that of all plans.
 */
async function openForRecord(
  adapter: StorageAdapter,
  plans: readonly CollectionPlan[],
  watch: ProcessWatch,
): Promise<StoredSchema> {
  try {
    await adapter.open(plans.some(hasUnique) ? [SCHEMA_PLAN] : plans)
    return await watch.begin()
  } catch (cause) {
    if (isObject(cause) && cause.code === 'unusable_storage') await adapter.open(plans)
    throw cause
  }
}

const hasUnique = ({ indexes }: CollectionPlan): boolean => indexes.some(({ unique }) => unique)

/**
 * Warns of processes that may store documents without the values of `fill`, or in another normal form, while this service
 * starts: a run may have ended before.
 */
function warnOfEarlier({ plan, logger, now }: Service, lines: readonly ProcessLine[]): void {
  const { steps } = describeProcess(plan)
  for (const { pid, at, steps: known } of lines) {
    const missing = steps.filter((step) => !known.includes(step))
    if (missing.length === 0 || now() - at >= LINE_COUNTS) continue
    const name = pid === null ? 'a process' : `process ${pid}`
    logger.warn(
      `${name} serves an earlier configuration, and may store documents that need these steps: ${missing.join(', ')}. Run collection-service migrate after it has ended`,
      { code: 'earlier_process' },
    )
  }
}

/** The milliseconds between two attempts to open the storage. */
const PAUSE = 1000

/**
 * The milliseconds after which `close` no longer waits if no response made progress: twice the timeout of a response
 * that no client reads.
 */
const PATIENCE = 60_000

/** The milliseconds between two checks of this progress. */
const LOOK = 1000

/** Creates the lifecycle of a service. */
export function createLifecycle(
  service: Service,
  adapter: StorageAdapter,
  { watch, worker, migrate }: StartWork,
): Lifecycle {
  const { plan, accounts, now } = service
  let state: Exclude<LifecycleState, 'closing'> = 'closed'
  let opening: Promise<undefined> | undefined
  let failedAt = 0
  let closing: Promise<void> | undefined
  const [work, answers] = [createCount(), createCount()]
  /** The time at which a part of a response was last read. */
  let partAt = 0
  let stopComparing = (): void => {}
  const goesOn = (): void => {
    partAt = performance.now()
  }
  /** Opens the storage. Its new unique indexes are created after the comparison with the record. */
  const openCompared = async (plans: readonly CollectionPlan[]): Promise<KnownRecord> => {
    const store = createStore(originOf(adapter), AT_START)
    const { record, lines } = await openForRecord(adapter, plans, watch)
    warnOfEarlier(service, lines)
    const isSplit = plans.some(hasUnique)
    const openAll = async (): Promise<void> => {
      await adapter.open(plans)
      if (record && record.droppedUniques.length > 0) await noteCreated(store, plan.collections.values())
    }
    if (record && isCurrent(record, plan)) {
      if (isSplit) await openAll()
      return record
    }
    const first = withoutNewIndexes(plans, plan, record)
    if (isSplit) await adapter.open(first)
    await migrate?.()
    const compared = await compareRecord(store, plan, now())
    if (first.some(({ indexes }, i) => indexes.length !== plans[i]?.indexes.length)) await openAll()
    return compared
  }
  const openStorage = async (): Promise<undefined> => {
    const plans = plansOf(plan)
    try {
      const own = service.deliver
        ? [SESSIONS_PLAN, LEDGERS_PLAN, DELIVERIES_PLAN]
        : [SESSIONS_PLAN, LEDGERS_PLAN]
      const record = await openCompared([...plans, ...(accounts ? own : []), SCHEMA_PLAN])
      reserveNames(plan, record)
      for (const name of record.finished)
        if (!plan.migrations.includes(name))
          service.logger.warn(`/migrations: ${JSON.stringify(name)} is finished, and no longer in the list`, {
            code: 'migration_removed',
          })
      for (const { pointer, message } of record.dropped)
        service.logger.warn(`${pointer}: ${message}`, { code: 'stored_dropped' })
      // Documents in memory that no other service stored are those of the seed, which is validated.
      const isFresh = adapter.system === 'memory' && !isSeeded(adapter)
      await storeSeed(service, adapter)
      await worker?.begin()
      state = 'open'
      if (!isFresh && !closing) stopComparing = warnOfStored(service, adapter)
      return undefined
    } catch (cause) {
      state = 'failed'
      failedAt = performance.now()
      await watch.end()
      throw cause
    }
  }
  const waitUntilIdle = async (): Promise<void> => {
    await opening?.catch(() => {})
    const ending = worker?.end()
    await work.idle()
    await ending
    if (opening) await watch.end()
  }
  const closeStorage = async (): Promise<void> => {
    // By then every request has its response. Other work that never ends must not keep the process alive.
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, plan.limits.requestSeconds * 1000)
    })
    await Promise.race([waitUntilIdle(), late])
    clearTimeout(timer)
    const stuck = lookFor(() => performance.now() - partAt > PATIENCE)
    await Promise.race([answers.idle(), stuck.found])
    stuck.stop()
    // Responses are sent at the end of a turn of the event loop; the last response may wait for the next turn.
    await endOfTurn()
    await endOfTurn()
    if (opening) await adapter.close()
  }
  return {
    open() {
      if (closing) return Promise.reject(new Error('the service is closed'))
      if (state === 'open') return watch.enter()
      if (state === 'closed' || (state === 'failed' && performance.now() - failedAt >= PAUSE)) {
        // A wrong clock is an error of the host. After this point, errors count as those of the storage.
        now()
        state = 'opening'
        opening = openStorage()
        // The callers of `open` receive the failure. If there are none, it must not end the process.
        opening.catch(() => {})
      }
      return opening
    },
    isOpen: () => state === 'open' && !closing,
    state: () => (closing ? 'closing' : state === 'open' && watch.isOutdated ? 'failed' : state),
    close() {
      stopComparing()
      closing ??= closeStorage()
      return closing
    },
    track: work.enter,
    trackAnswer() {
      goesOn()
      return { goesOn, end: answers.enter() }
    },
  }
}

/** Counts running work. */
function createCount(): { enter(): () => void; idle(): Promise<void> } {
  let count = 0
  let onIdle: (() => void) | undefined
  const leave = (): void => {
    count -= 1
    if (count === 0) onIdle?.()
  }
  return {
    enter() {
      count += 1
      return leave
    },
    async idle() {
      if (count === 0) return
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    },
  }
}

/** Checks at intervals whether a condition is true. */
function lookFor(holds: () => boolean): { readonly found: Promise<void>; stop(): void } {
  let looking: ReturnType<typeof setInterval> | undefined
  const found = new Promise<void>((resolve) => {
    looking = setInterval(() => {
      if (holds()) resolve()
    }, LOOK)
  })
  return { found, stop: () => clearInterval(looking) }
}
