import { bounds } from '../bounds.js'
import type { Collection } from '../config/plan.js'
import { isServiceError } from '../errors.js'
import type { Service } from '../request/call.js'
import type { ReadLog, Store } from '../request/store.js'
import type { Change, ChangePage, ChangeQuery } from '../storage.js'
import type { Logger } from '../types/host.js'
import { DocumentQueue, type QueuedChange } from './document-queue.js'
import { type Lease, type LeaseOptions, takeLease } from './lease.js'
import { type ConsumerProgress, createRecords } from './records.js'
import { isNamed, nameChange, tellChange } from './tell-change.js'
import { TIMING, type Timing } from './timing.js'
import type { Consumer } from './types.js'

/** The maximum number of changes that are handled concurrently (CONTRACT.md §9, "Consumers"). */
const MOST_HANDLED = 10

/** The maximum number of changes that are queued. */
const MOST_WAITING = 1000

/** The maximum number of changes of one read of the log, and the milliseconds for which a read waits for changes. */
const PAGE = { limit: 500, wait: 60_000 } as const

/** The age in milliseconds from which a change that is not handled yet is skipped. */
const WEEK = 7 * 24 * 3_600_000

/** The milliseconds of backoff before a retry: the first, and the longest. */
const PAUSES = [1000, 3_600_000] as const

/** A consumer and its dependencies, without its lease. */
interface ConsumerOptions {
  readonly name: string
  readonly handle: Consumer['handle']
  /** The collections of the consumer, by name. */
  readonly collections: ReadonlyMap<string, Collection>
  readonly log: ReadLog
  readonly logger: Logger
  readonly timing: Timing
}

/** The work of a consumer while this process holds its lease. */
class ConsumerSession {
  readonly #options: ConsumerOptions
  readonly #lease: Lease
  readonly #over = new AbortController()
  readonly #queue = new DocumentQueue()
  /** One controller per running handler, so that the listeners on a signal are released with its controller. */
  readonly #handling = new Set<AbortController>()
  /** The collections of the consumer, by stored name. */
  readonly #byStored: ReadonlyMap<string, Collection>
  /** The changes that wait for a retry, each with the time of the retry. */
  readonly #paused = new Map<QueuedChange, number>()
  #begun = 0
  /** The position in the log after everything that was read. */
  #position: string
  /**
   * Whether the queued changes can no longer be found. The next session then starts again at the position of the first
   * queued change.
   */
  #isDisplaced = false
  #wake = (): void => {}

  constructor(options: ConsumerOptions, lease: Lease) {
    this.#options = options
    this.#lease = lease
    const { position, waiting } = lease.progress
    this.#position = position
    this.#byStored = new Map(Array.from(options.collections.values(), (one) => [one.storedName, one]))
    for (const change of waiting)
      if (this.#byStored.has(change.collection)) this.#queue.add({ ...change, change: undefined })
  }

  /** Works until `signal` aborts or the lease is lost. Resolves when all handlers that it called have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const end = (): void => this.#over.abort()
    for (const ending of [signal, this.#lease.signal]) {
      ending.addEventListener('abort', end)
      if (ending.aborted) end()
    }
    this.#over.signal.addEventListener('abort', () => {
      for (const handling of this.#handling) handling.abort()
      this.#wake()
    })
    const keeping = this.#lease.keep(() => this.#progress)
    try {
      this.#begin()
      await this.#read()
    } finally {
      end()
      // Stops the renewal, because a handler that never ends must not keep the lease of a closing process.
      if (signal.aborted) this.#lease.stop()
      while (this.#begun > 0) await this.#woken()
      signal.removeEventListener('abort', end)
      await this.#lease.release(this.#progress)
      await keeping
    }
  }

  get #progress(): ConsumerProgress {
    const { waiting } = this.#queue
    return this.#isDisplaced
      ? { position: waiting[0]?.after ?? this.#position, waiting: [] }
      : { position: this.#position, waiting }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Reads the log while the queue has room. */
  async #read(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      const room = MOST_WAITING - this.#queue.size
      // While other changes are ready to be handled, a further page would only take memory.
      if (room <= 0 || this.#queue.hasReady) await this.#woken()
      else {
        const limit = Math.min(PAGE.limit, room)
        const page = await this.#ask(this.#position, { ...PAGE, bytes: bounds.readBytes, limit })
        if (page) this.#take(page)
      }
    }
  }

  /** Reads the log; `undefined` if it cannot be read, or the session is over. */
  async #ask(after: string, query: Omit<ChangeQuery, 'signal'>): Promise<ChangePage | undefined> {
    const { log, logger, name, timing } = this.#options
    const { signal } = this.#over
    try {
      return await log(after, { ...query, signal })
    } catch (cause) {
      if (signal.aborted) return undefined
      const isAway = isServiceError(cause) && cause.code === 'storage_unavailable'
      if (isAway) logger.warn('the log of changes cannot be read; retrying', { consumer: name })
      else logger.error('a consumer cannot read the log of changes; retrying', { consumer: name, cause })
      await timing.sleep(PAUSES[0], signal)
      return undefined
    }
  }

  #take(page: ChangePage): void {
    const { collections, logger, name } = this.#options
    if (page.gap)
      logger.warn('a consumer skips changes that are no longer retained, or receives some again', {
        consumer: name,
      })
    let after = this.#position
    for (const change of page.changes) {
      const { id: document, time, position } = change
      const collection = collections.get(change.in)?.storedName
      if (collection !== undefined) {
        const id = nameChange(collection, change)
        this.#queue.add({ after, collection, document, time, id, attempt: 0, change })
      }
      after = position
    }
    this.#position = page.position
    this.#begin()
  }

  /** Starts the handlers of changes that are ready. */
  #begin(): void {
    while (this.#begun < MOST_HANDLED && !this.#over.signal.aborted && this.#lease.isHeld) {
      const queued = this.#queue.take()
      if (!queued) break
      this.#begun += 1
      void this.#tell(queued).then((pause) => {
        this.#begun -= 1
        if (pause === undefined) this.#queue.finish(queued)
        else this.#pause(queued, pause)
        this.#lease.note()
        this.#begin()
        this.#wake()
      })
    }
  }

  /** Removes a change from memory until its retry. */
  #pause(queued: QueuedChange, pause: number): void {
    queued.change = undefined
    this.#paused.set(queued, this.#options.timing.now() + pause)
    if (this.#paused.size === 1) void this.#awaitPaused()
  }

  async #awaitPaused(): Promise<void> {
    const { timing } = this.#options
    const { signal } = this.#over
    while (this.#paused.size > 0 && !signal.aborted) {
      const left = Math.min(...this.#paused.values()) - timing.now()
      // A change that is added during the sleep waits at least this long.
      await timing.sleep(Math.min(left, PAUSES[0]), signal)
      for (const [queued, due] of this.#paused) {
        if (due > timing.now()) continue
        this.#paused.delete(queued)
        this.#queue.putBack(queued)
      }
      this.#begin()
    }
  }

  /** Handles a change; returns the milliseconds until a retry, if one is needed. */
  async #tell(queued: QueuedChange): Promise<number | undefined> {
    const { handle, logger, name, timing } = this.#options
    const { document, id } = queued
    const collection = this.#byStored.get(queued.collection)
    const about = { consumer: name, collection: collection?.name, document, id }
    if (timing.today() - queued.time > WEEK) {
      logger.error('a change was not handled within 7 days, and is skipped', about)
      return undefined
    }
    const change = queued.change ?? (await this.#find(queued))
    if (!change || !collection) return PAUSES[0]
    // Another process may have taken the lease during the read.
    if (this.#over.signal.aborted || !this.#lease.isHeld) return PAUSES[0]
    const attempt = queued.attempt + 1
    const handling = new AbortController()
    const { signal } = handling
    this.#handling.add(handling)
    try {
      const told = tellChange(collection, change)
      if (told) await handle(told, Object.freeze({ id, attempt, lease: this.#lease.number, signal }))
      return undefined
    } catch (cause) {
      // The handler was aborted, so the attempt does not count.
      if (signal.aborted) return PAUSES[0]
      queued.attempt = attempt
      logger.error(`options.consumers.${name}.handle failed; it will be called again for this change`, {
        ...about,
        attempt,
        cause,
      })
      return Math.min(PAUSES[0] * 2 ** (attempt - 1), PAUSES[1])
    } finally {
      this.#handling.delete(handling)
    }
  }

  /**
   * Reads a change again. If the change is no longer at its position, the storage has been replaced, and the session
   * restarts at that position.
   */
  async #find({ after, collection, id }: QueuedChange): Promise<Change | undefined> {
    const page = await this.#ask(after, { limit: 1 })
    if (!page) return undefined
    const [change] = page.changes
    const isIn = change && this.#options.collections.get(change.in)?.storedName === collection
    if (isIn && isNamed(collection, change, id)) return change
    this.#isDisplaced = true
    this.#over.abort()
    return undefined
  }
}

/** The consumers of a service. */
export interface Consumers {
  /** Starts all consumers. Call it when the storage is open. They receive all later changes. */
  begin(): Promise<void>
  /** Stops all consumers. Resolves when all handlers that they called have ended. */
  end(): Promise<void>
}

/** The milliseconds after which a failed consumer restarts. */
const PAUSE = 1000

/** The storage that consumers read and write. */
interface ConsumerStorage {
  readonly log: ReadLog
  readonly store: Store
}

/** Creates the consumers of a host (CONTRACT.md §9, "Consumers"), by name. */
export function createConsumers(
  { plan, logger }: Pick<Service, 'plan' | 'logger'>,
  consumers: ReadonlyMap<string, Consumer>,
  { log, store }: ConsumerStorage,
  timing: Timing = TIMING,
): Consumers {
  let ending: AbortController | undefined
  let isOver = false
  const running: Promise<void>[] = []
  const all = Array.from(consumers, ([name, { collections: names, handle }]) => {
    const collections = new Map([...plan.collections].filter(([collection]) => names.includes(collection)))
    return { name, handle, collections, log, logger, timing, records: createRecords(store, log, name) }
  })
  return {
    async begin() {
      await Promise.all(all.map(({ records }) => records.ensure()))
      if (ending || isOver) return
      // Created here, because some runtimes do not allow it at load time.
      ending = new AbortController()
      for (const consumer of all) running.push(runConsumer(consumer, ending.signal))
    },
    async end() {
      isOver = true
      ending?.abort()
      await Promise.all(running)
    },
  }
}

/** Runs a consumer whenever this process holds its lease. */
async function runConsumer(options: ConsumerOptions & LeaseOptions, signal: AbortSignal): Promise<void> {
  const { name, logger, timing } = options
  while (!signal.aborted) {
    try {
      const lease = await takeLease(options, signal)
      if (lease) await new ConsumerSession(options, lease).run(signal)
    } catch (cause) {
      if (signal.aborted) return
      if (isServiceError(cause) && cause.code === 'storage_unavailable')
        logger.warn('a consumer cannot reach the storage; retrying', { consumer: name })
      else logger.error('a consumer failed and restarts', { consumer: name, cause })
      await timing.sleep(PAUSE, signal)
    }
  }
}
