import type { Logger } from '../../types/host.js'
import type { ConsumerProgress, ConsumerRecord, Records } from './records.js'
import type { Timing } from './timing.js'

/** The milliseconds after which the holder raises the lease (CONTRACT.md §9, "Consumers"). */
const BEAT = 5000

/** The milliseconds for which others see it unchanged before they take it. */
const PATIENCE = 20_000

/** The milliseconds after a write for which the holder is sure of it: less, for clocks do not run alike. */
const SURE = 15_000

/** The milliseconds between two looks, at what others hold and at what there is to write. */
const LOOK = 1000

/** What a lease depends on. */
export interface LeaseOptions {
  /** The name of the consumer, for the log. */
  readonly name: string
  readonly records: Records
  readonly timing: Timing
  readonly logger: Logger
}

/** The right to run a consumer, which one process has. */
export class Lease {
  readonly #options: LeaseOptions
  readonly #lost = new AbortController()
  #record: ConsumerRecord
  #until: number
  #isNoted = false
  /** Whether a write may have happened, though it failed. */
  #isUnsure = false
  #turn: Promise<void> = Promise.resolve()
  #end = (): void => {}

  /** `since`: the time before the write that took it. */
  constructor(options: LeaseOptions, record: ConsumerRecord, since: number) {
    this.#options = options
    this.#record = record
    this.#until = since + SURE
  }

  /** Grows as long as somebody holds it. */
  get number(): number {
    return this.#record.lease
  }

  /** How far the consumer was when it was last written. */
  get progress(): ConsumerProgress {
    return this.#record
  }

  /** Whether no other process can have taken it. */
  get isHeld(): boolean {
    return !this.#lost.signal.aborted && this.#options.timing.now() < this.#until
  }

  /** Aborts when it is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** Says that there is something to write, which then happens soon. */
  note(): void {
    this.#isNoted = true
  }

  /** Raises it, and writes how far the consumer is, until it is lost or given back. */
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

  /** Raises it no more: it is held for as long as that lasts. */
  stop(): void {
    this.#end()
  }

  /** Gives it back, so that another process need not wait. */
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
      logger.warn('how far a consumer is cannot be stored; trying again', { consumer: name, cause })
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

  /** Finds out what is stored. As long as the holder is the same, nobody else has written. */
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

  /** A write that never ends must not hide that the time is over. */
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
    logger.warn('a consumer has lost its lease: another process may go on', { consumer: name })
    this.#lost.abort()
  }
}

/** Takes the lease once nobody else holds it; `undefined` where `signal` aborts before. */
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
      // When it was there already, not when it was asked for: it may have been raised meanwhile.
      seenAt = timing.now()
    }
    if (record && (record.holder === null || since - seenAt >= PATIENCE)) {
      const taken = await records.replace(record, { ...record, holder: crypto.randomUUID() })
      if (taken) return new Lease(options, taken, since)
    } else if (record) await timing.sleep(LOOK, signal)
  }
  return undefined
}
