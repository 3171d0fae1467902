import type { Logger } from '../types/host.js'
import type { ConsumerProgress, ConsumerRecord, Records } from './records.js'
import type { Timing } from './timing.js'

/** The milliseconds after which the holder renews the lease (CONTRACT.md §9, "Consumers"). */
const BEAT = 5000

/** The milliseconds for which another process must see no renewal before it takes the lease. */
const PATIENCE = 20_000

/**
 * The milliseconds after a write of the lease for which its holder can be sure to hold it: fewer than `PATIENCE`,
 * because clocks drift.
 */
const SURE = 15_000

/** The milliseconds between two checks: of the lease of another process, and of progress to write. */
const LOOK = 1000

/** The options of a lease. */
export interface LeaseOptions {
  /** The name of the consumer in log entries. */
  readonly name: string
  readonly records: Records
  readonly timing: Timing
  readonly logger: Logger
}

/** The right to run a consumer, which one process at a time holds. */
export class Lease {
  readonly #options: LeaseOptions
  readonly #lost = new AbortController()
  #record: ConsumerRecord
  #until: number
  #isNoted = false
  /** Whether the last write failed, but may have taken effect. */
  #isUnsure = false
  #turn: Promise<void> = Promise.resolve()
  #end = (): void => {}

  /** `since` is the time before the write that took the lease. */
  constructor(options: LeaseOptions, record: ConsumerRecord, since: number) {
    this.#options = options
    this.#record = record
    this.#until = since + SURE
  }

  /** The fencing token: it grows with each write. */
  get number(): number {
    return this.#record.lease
  }

  /** The progress of the consumer when it was last written. */
  get progress(): ConsumerProgress {
    return this.#record
  }

  /** Whether this process certainly still holds the lease. */
  get isHeld(): boolean {
    return !this.#lost.signal.aborted && this.#options.timing.now() < this.#until
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** Notes that there is progress to write, so that it is written soon. */
  note(): void {
    this.#isNoted = true
  }

  /** Renews the lease and writes the progress of the consumer, until the lease is lost or released. */
  async keep(progress: () => ConsumerProgress): Promise<void> {
    const { timing } = this.#options
    const ended = new AbortController()
    this.#end = () => ended.abort()
    this.signal.addEventListener('abort', this.#end)
    void this.#watch(ended.signal)
    for (;;) {
      await timing.sleep(LOOK, ended.signal)
      if (ended.signal.aborted) return
      const isDue = this.#isNoted || timing.now() >= this.#until - SURE + BEAT
      if (isDue) await this.#inTurn(() => this.#save(progress()))
    }
  }

  /** Stops the renewal. The process holds the lease until it expires. */
  stop(): void {
    this.#end()
  }

  /** Releases the lease, so that another process can take it immediately. */
  async release(progress: ConsumerProgress): Promise<void> {
    this.#end()
    await this.#inTurn(async () => {
      if (!this.isHeld || (this.#isUnsure && !(await this.#findOut()))) return
      await this.#options.records.replace(this.#record, { ...progress, holder: null })
    })
    this.#lost.abort()
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((cause: unknown) => {
      this.#isUnsure = true
      this.#isNoted = true
      const { logger, name } = this.#options
      logger.warn('the progress of a consumer cannot be stored; retrying', { consumer: name, cause })
    })
    return this.#turn
  }

  async #save(progress: ConsumerProgress): Promise<void> {
    if (!this.isHeld) return this.#lose()
    if (this.#isUnsure && !(await this.#findOut())) return
    const { records, timing } = this.#options
    const since = timing.now()
    this.#isNoted = false
    const next = await records.replace(this.#record, { ...progress, holder: this.#record.holder })
    if (!next) return this.#lose()
    this.#record = next
    this.#until = since + SURE
  }

  /**
   * Reads the stored record, to find out whether the failed write took effect. If the holder is still the same, no
   * other process has written.
   */
  async #findOut(): Promise<boolean> {
    const found = await this.#options.records.read()
    if (found?.holder !== this.#record.holder) {
      this.#lose()
      return false
    }
    this.#record = found
    this.#isUnsure = false
    return true
  }

  /** Notices that the lease has expired, even if a write of the lease never ends. */
  async #watch(ended: AbortSignal): Promise<void> {
    const { timing } = this.#options
    while (!ended.aborted) {
      const left = this.#until - timing.now()
      if (left <= 0) return this.#lose()
      await timing.sleep(left, ended)
    }
  }

  #lose(): void {
    if (this.signal.aborted) return
    const { logger, name } = this.#options
    logger.warn('a consumer has lost its lease: another process may take over', { consumer: name })
    this.#lost.abort()
  }
}

/** Takes the lease when no other process holds it. Returns `undefined` if `signal` aborts first. */
export async function takeLease(options: LeaseOptions, signal: AbortSignal): Promise<Lease | undefined> {
  const { records, timing } = options
  let seen: number | undefined
  let seenAt = 0
  while (!signal.aborted) {
    const since = timing.now()
    const record = await records.read()
    if (!record) await records.ensure()
    else if (record.lease !== seen) {
      seen = record.lease
      // The time is taken after the read, because the lease may have been renewed during the read.
      seenAt = timing.now()
    }
    if (record && (record.holder === null || since - seenAt >= PATIENCE)) {
      const taken = await records.replace(record, { ...record, holder: crypto.randomUUID() })
      if (taken) return new Lease(options, taken, since)
    } else if (record) await timing.sleep(LOOK, signal)
  }
  return undefined
}
