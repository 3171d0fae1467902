import { LEDGERS } from '../accounts/auth/ledger.js'
import { ConfigError, isServiceError } from '../errors.js'
import { isId } from '../filter/filter.js'
import { drawFirstVersion } from '../first-version.js'
import { ignoreFailure } from '../promises.js'
import type { Service } from '../request/call.js'
import { RequestDeadline, waitUntilLate } from '../request/deadline.js'
import type { CreateStore, LastWrite, Store } from '../request/store.js'
import type { Health, HealthCheck } from '../types/host.js'
import type { MaybePromise } from '../types.js'
import type { Lifecycle, LifecycleState } from './lifecycle.js'

/** The minimum number of milliseconds between two questions to the storage. */
const INTERVAL = 1000

/** The maximum number of seconds for which a question waits: less than probes usually wait. */
const PATIENCE = 2

/** An `_id` that no document has. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

/** The parts of a service that its health depends on. */
export interface HealthParts {
  readonly service: Pick<Service, 'plan' | 'accounts' | 'hasher' | 'logger'>
  readonly life: Pick<Lifecycle, 'open' | 'state' | 'track'>
  readonly createStore: CreateStore
  /** The last write of the stores that `createStore` creates. */
  readonly lastWrite: Pick<LastWrite, 'hasFailed'>
}

/** The details of the check `service` in the states in which it fails. */
const DETAILS: { readonly [state in Exclude<LifecycleState, 'open'>]: string } = {
  closed: 'The service is starting.',
  opening: 'The service is starting.',
  failed: 'The storage could not be opened.',
  closing: 'The service is closing.',
}

/** Checks the health of a service (CONTRACT.md §7, "Health"). It needs no timer, because it asks when it is asked. */
export class HealthMonitor {
  readonly #parts: HealthParts
  /** The question that is running, if any. */
  #running: Promise<void> | undefined
  /** The time at which the last question began. */
  #askedAt = Number.NEGATIVE_INFINITY
  /** The reason why the last question failed, if it did. */
  #detail: string | undefined
  /** The checks whose failure is in the log. Anyone may send probes, so a failure is logged once. */
  readonly #logged = new Set<HealthCheck['name']>()
  /** Whether the service is about to close. */
  #isDraining = false

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  /** From now on, the service is not ready, although it answers requests. */
  readonly drain = (): void => {
    this.#isDraining = true
  }

  /** Returns all checks. Callers at the same time, or within a second, share one question to the storage. */
  readonly check = async (): Promise<Health> => {
    const { life } = this.#parts
    if (life.state() !== 'closing') await this.#askOnce()
    const state = life.state()
    const checks = [
      createCheck('service', state === 'open' ? this.#describeDrain() : DETAILS[state]),
      createCheck('storage', state === 'open' ? this.#detail : 'The storage is not asked.'),
      createCheck('hashing', this.#isOverloaded() ? 'Too many secrets are waiting.' : undefined),
    ]
    return { status: checks.every(({ status }) => status === 'ok') ? 'ok' : 'failing', checks }
  }

  #describeDrain(): string | undefined {
    return this.#isDraining ? 'The service is about to close.' : undefined
  }

  #askOnce(): Promise<void> | undefined {
    if (this.#running) return this.#running
    if (performance.now() - this.#askedAt < INTERVAL) return undefined
    this.#askedAt = performance.now()
    this.#running = this.#ask().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Asks the storage, and logs when its health changes. */
  async #ask(): Promise<void> {
    const { service, life } = this.#parts
    try {
      const seconds = Math.min(PATIENCE, service.plan.limits.requestSeconds / 2)
      const deadline = new RequestDeadline()
      const limit = { seconds, onGone: () => () => {}, onSettled: life.track(), discard() {} }
      await waitUntilLate(this.#askStorage(deadline), deadline, limit)
      this.#detail = undefined
      if (this.#logged.delete('storage')) service.logger.info('the storage answers again')
    } catch (cause) {
      const code = isServiceError(cause) ? cause.code : 'internal_error'
      this.#detail = `The storage does not answer as it should: ${code}.`
      if (this.#logged.has('storage') || life.state() === 'opening') return
      this.#logged.add('storage')
      const isWaiting = cause instanceof ConfigError
      service.logger.warn(
        isWaiting
          ? 'the service waits until the stored documents fit the configuration'
          : 'the storage does not answer as it should',
        { cause },
      )
    }
  }

  /** Whether the queue of the hasher has no room for another caller. A hasher of the host that cannot tell has room. */
  #isOverloaded(): boolean {
    const { hasher, logger } = this.#parts.service
    try {
      const answer: unknown = hasher.isOverloaded?.()
      ignoreFailure(answer)
      this.#logged.delete('hashing')
      return answer === true
    } catch (cause) {
      if (!this.#logged.has('hashing')) logger.error('options.hasher.isOverloaded failed', { cause })
      this.#logged.add('hashing')
      return true
    }
  }

  /**
   * Reads a document that does not exist. If the last write failed, also makes a write that changes nothing: a full disk
   * can still be read, and no other write would show that there is room again, once a load balancer sends none.
   */
  async #askStorage(deadline: RequestDeadline): Promise<void> {
    const { service, life, createStore, lastWrite } = this.#parts
    deadline.enter('read')
    await life.open()
    const store = createStore(deadline)
    const collection = service.accounts ? LEDGERS : [...service.plan.collections.keys()][0]
    if (collection === undefined) return
    await store.own(collection).find(NO_ID)
    if (lastWrite.hasFailed) await tryWrite(store, collection)
  }
}

/** The text of a document of some size: a disk may be so full that only the smallest documents still fit. */
const TEXT = 'x'.repeat(16_384)

/** Creates a document and removes it, in one write. */
const tryWrite = (store: Store, collection: string): MaybePromise<void> => {
  const insert = { _id: crypto.randomUUID(), _version: drawFirstVersion(), text: TEXT }
  const steps = [
    { in: collection, insert },
    { in: collection, remove: isId(insert._id), expect: 1 },
  ]
  return store.write(() => ({ steps, done: undefined }))
}

const createCheck = (name: HealthCheck['name'], detail: string | undefined): HealthCheck =>
  detail === undefined ? { name, status: 'ok' } : { name, status: 'failing', detail }
