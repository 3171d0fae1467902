import type { ServicePlan } from '../config/plan.js'
import { ServiceError } from '../errors.js'
import type { Store } from '../request/store.js'
import type { WriteStep } from '../storage.js'
import { isNewEnough } from '../stored/record/compare-record.js'
import {
  describeProcess,
  findDeclared,
  findStorable,
  LINE_COUNTS,
  readSchema,
  removeLine,
  type StoredSchema,
  writeLine,
} from '../stored/record/process-lines.js'
import type { Logger } from '../types/host.js'
import type { MaybePromise } from '../types.js'

/** The milliseconds after which the first request renews the line of its process. */
const RENEWED = 60_000

/** The milliseconds of a line after which a request waits for its renewal. */
const FRESH = LINE_COUNTS / 2

/** The milliseconds between two attempts to renew a line. */
const PAUSE = 1000

/** The options of a process watch. */
interface WatchOptions {
  readonly plan: Pick<ServicePlan, 'collections' | 'migrations'>
  /** The storage, by stored names. */
  readonly store: () => Store
  readonly now: () => number
  /** The number that the operating system gave to this process, if there is one. */
  readonly pid: number | null
  readonly logger: Logger
}

/**
 * The line of this process in the storage (CONTRACT.md §7, "Earlier processes"), by which a migration knows that it serves.
 * It needs no timer: the first request of a minute renews the line beside its own work. After a pause, a request waits for
 * the renewal, and for a look whether a step has begun that the configuration lacks.
 */
export class ProcessWatch {
  readonly #options: WatchOptions
  #id: string | undefined
  /**
   * The time of the last renewal; `undefined` before the start, and −∞ while the configuration is older than the stored
   * documents.
   */
  #renewedAt: number | undefined
  #renewing: Promise<undefined> | undefined
  #isRenewing = false
  #triedAt = Number.NEGATIVE_INFINITY
  /** Whether the storage may have the line. */
  #isStored = false
  /** Whether the log says that the configuration is older. */
  #isLogged = false

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Stores the line, and reads what is known of the storage. Throws if a step has begun that this process lacks. */
  async begin(): Promise<StoredSchema> {
    this.#renewedAt = undefined
    const at = this.#options.now()
    const schema = await this.#look(at)
    const begun = this.#findUnknown(schema)
    if (begun !== undefined) throw await this.#refuse(begun)
    this.#renewedAt = at
    return schema
  }

  /** Removes the line. */
  async end(): Promise<void> {
    this.#renewedAt = undefined
    await this.#remove()
  }

  /** Whether the configuration is older than the stored documents. */
  get isOutdated(): boolean {
    return this.#renewedAt === Number.NEGATIVE_INFINITY
  }

  /**
   * Called before each request, and before each read of the log. Returns a promise if the work must wait. It rejects with
   * `storage_unavailable` if this process must not read or write.
   */
  enter(): MaybePromise<undefined> {
    const at = this.#renewedAt
    if (at === undefined) return undefined
    const age = this.#options.now() - at
    if (age >= 0 && age < RENEWED) return undefined
    const isLate = age < 0 || age >= FRESH
    const renewing = this.#renewOnce(isLate)
    return isLate ? renewing : undefined
  }

  #renewOnce(isLate: boolean): Promise<undefined> {
    const isEarly = this.#isRenewing || performance.now() - this.#triedAt < PAUSE
    if (this.#renewing && isEarly) return this.#renewing
    this.#triedAt = performance.now()
    this.#isRenewing = true
    this.#renewing = this.#renew(isLate).finally(() => {
      this.#isRenewing = false
    })
    // A later request tries again.
    this.#renewing.catch(() => {})
    return this.#renewing
  }

  async #renew(isLate: boolean): Promise<undefined> {
    const { plan, now } = this.#options
    const at = now()
    const schema = await this.#look(at)
    const { record } = schema
    if (record && !isNewEnough(record, plan.migrations))
      throw await this.#refuse(`the migration ${JSON.stringify(record.finished.at(-1))} is finished`)
    const dropped = findDeclared(describeProcess(plan), record?.droppedUniques ?? [])
    if (dropped !== undefined)
      throw await this.#refuse(`the unique index ${dropped} was dropped, and a restart creates it again`)
    const begun = isLate ? this.#findUnknown(schema) : undefined
    if (begun !== undefined) throw await this.#refuse(begun)
    // The process may have ended meanwhile.
    if (this.#renewedAt === undefined) await this.#remove()
    else this.#renewedAt = at
    return undefined
  }

  /** Says which step has begun that the configuration lacks. */
  #findUnknown({ begun, erasing, dropping }: StoredSchema): string | undefined {
    const { plan } = this.#options
    const name = begun.find((one) => !plan.migrations.includes(one))
    if (name !== undefined) return `the migration ${JSON.stringify(name)} has begun`
    const line = describeProcess(plan)
    const key = findStorable(line, erasing)
    if (key !== undefined) return `${key.replace(' ', '.')} is being erased`
    const index = findDeclared(line, dropping)
    return index === undefined ? undefined : `the unique index ${index} is being dropped`
  }

  /** Stores the line before it reads: of a process and a migration that begin at once, one sees the other. */
  async #look(at: number): Promise<StoredSchema> {
    const { plan, store, pid } = this.#options
    // Created here, because some runtimes allow no random values at load time.
    this.#id ??= crypto.randomUUID()
    await this.#write(writeLine({ ...describeProcess(plan), id: this.#id, at, pid }))
    this.#isStored = true
    return readSchema(store())
  }

  async #refuse(why: string): Promise<ServiceError> {
    const { logger } = this.#options
    const detail = `This configuration is older than the stored documents: ${why}.`
    if (!this.#isLogged) logger.error(detail)
    this.#isLogged = true
    this.#renewedAt = Number.NEGATIVE_INFINITY
    await this.#remove()
    return new ServiceError('storage_unavailable', detail)
  }

  /** A failure is ignored, because the line soon counts no longer. */
  async #remove(): Promise<void> {
    if (!this.#isStored || this.#id === undefined) return
    this.#isStored = false
    try {
      await this.#write([removeLine(this.#id)])
    } catch {}
  }

  async #write(steps: readonly WriteStep[]): Promise<void> {
    await this.#options.store().write(() => ({ steps, done: undefined }))
  }
}
