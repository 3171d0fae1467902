import { bounds } from '../../bounds.js'
import type { Collection } from '../../config/plan.js'
import type { Consumer } from '../../consumers.js'
import { isServiceError } from '../../errors.js'
import type { Change, ChangePage, ChangeQuery } from '../../storage.js'
import type { Logger } from '../../types/host.js'
import type { ReadLog } from '../store.js'
import { DocumentQueue, type QueuedChange } from './document-queue.js'
import type { Lease } from './lease.js'
import type { ConsumerProgress } from './records.js'
import { isNamed, nameChange, tellChange } from './tell-change.js'
import type { Timing } from './timing.js'

/** How many changes are handled at a time (CONTRACT.md §9, "Consumers"). */
const MOST_HANDLED = 10

/** How many changes wait at most. */
const MOST_WAITING = 1000

/** How much of the log is read at once, and how long one look waits, in milliseconds. */
const PAGE = { limit: 500, wait: 60_000 } as const

/** The milliseconds for which a change is tried. */
export const WEEK = 7 * 24 * 3_600_000

/** The milliseconds before another attempt: at first, and at most. */
const PAUSES = [1000, 3_600_000] as const

/** A consumer and what it needs, whichever process holds its lease. */
export interface ConsumerOptions {
  readonly name: string
  readonly handle: Consumer['handle']
  /** By name. */
  readonly collections: ReadonlyMap<string, Collection>
  readonly log: ReadLog
  readonly logger: Logger
  readonly timing: Timing
}

/** The work of a consumer while this process holds its lease. */
export class ConsumerSession {
  readonly #options: ConsumerOptions
  readonly #lease: Lease
  readonly #over = new AbortController()
  readonly #queue = new DocumentQueue()
  /** One for each change that is handled: what listens to its signal is gone with it. */
  readonly #handling = new Set<AbortController>()
  /** When to try again. */
  readonly #paused = new Map<QueuedChange, number>()
  #begun = 0
  /** Behind all that was read. */
  #position: string
  /** Whether the next session begins again with nothing waiting, because what waits can no longer be found. */
  #isDisplaced = false
  #wake = (): void => {}

  constructor(options: ConsumerOptions, lease: Lease) {
    this.#options = options
    this.#lease = lease
    const { position, waiting } = lease.progress
    this.#position = position
    for (const change of waiting)
      if (options.collections.has(change.collection)) this.#queue.add({ ...change, change: undefined })
  }

  /** Works until `signal` aborts or the lease is lost, and until what was begun has ended. */
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
      // A handler that never ends must not keep a process that closes.
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

  /** Reads the log as far as there is room. */
  async #read(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      const room = MOST_WAITING - this.#queue.size
      // A page that nobody could begin with would only take memory.
      if (room <= 0 || this.#queue.hasReady) await this.#woken()
      else {
        const limit = Math.min(PAGE.limit, room)
        const page = await this.#ask(this.#position, { ...PAGE, bytes: bounds.readBytes, limit })
        if (page) this.#take(page)
      }
    }
  }

  /** Asks the log; `undefined` where it cannot be read, or the session is over. */
  async #ask(after: string, query: Omit<ChangeQuery, 'signal'>): Promise<ChangePage | undefined> {
    const { log, logger, name, timing } = this.#options
    const { signal } = this.#over
    try {
      return await log(after, { ...query, signal })
    } catch (cause) {
      if (signal.aborted) return undefined
      const isAway = isServiceError(cause) && cause.code === 'storage_unavailable'
      if (isAway) logger.warn('the log of changes cannot be read; trying again', { consumer: name })
      else logger.error('a consumer cannot read the log of changes', { consumer: name, cause })
      await timing.sleep(PAUSES[0], signal)
      return undefined
    }
  }

  #take(page: ChangePage): void {
    const { collections, logger, name } = this.#options
    if (page.gap)
      logger.warn('a consumer skips changes that are no longer kept, or is told of some again', {
        consumer: name,
      })
    let after = this.#position
    for (const change of page.changes) {
      const { in: collection, id: document, time, position } = change
      if (collections.has(collection)) {
        const id = nameChange(change)
        this.#queue.add({ after, collection, document, time, id, attempt: 0, change })
      }
      after = position
    }
    this.#position = page.position
    this.#begin()
  }

  /** Begins with what may begin. */
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

  /** Lets go of a change until its time comes. */
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
      // What is paused meanwhile is paused for no less than this.
      await timing.sleep(Math.min(left, PAUSES[0]), signal)
      for (const [queued, due] of this.#paused) {
        if (due > timing.now()) continue
        this.#paused.delete(queued)
        this.#queue.putBack(queued)
      }
      this.#begin()
    }
  }

  /** Tells of a change; gives the milliseconds to wait before another attempt, where one is needed. */
  async #tell(queued: QueuedChange): Promise<number | undefined> {
    const { collections, handle, logger, name, timing } = this.#options
    const { collection: of, document, id } = queued
    const about = { consumer: name, collection: of, document, id }
    if (timing.today() - queued.time > WEEK) {
      logger.error('a change was not handled within 7 days, and is skipped', about)
      return undefined
    }
    const change = queued.change ?? (await this.#find(queued))
    const collection = collections.get(of)
    if (!change || !collection) return PAUSES[0]
    // While it was looked for, another process may have come.
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
      // It was told to end.
      if (signal.aborted) return PAUSES[0]
      queued.attempt = attempt
      logger.error(`options.consumers.${name}.handle failed`, { ...about, attempt, cause })
      return Math.min(PAUSES[0] * 2 ** (attempt - 1), PAUSES[1])
    } finally {
      this.#handling.delete(handling)
    }
  }

  /** Reads a change again. Where it is not at its place, the storage is another one: all begins anew there. */
  async #find({ after, id }: QueuedChange): Promise<Change | undefined> {
    const page = await this.#ask(after, { limit: 1 })
    if (!page) return undefined
    const [change] = page.changes
    if (change && isNamed(change, id)) return change
    this.#isDisplaced = true
    this.#over.abort()
    return undefined
  }
}
