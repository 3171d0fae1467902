import { bounds } from '../../bounds.js'
import { isServiceError } from '../../errors.js'
import { createRunAlone, type RunAlone, sleep } from '../../promises.js'
import type { ReadLog } from '../../request/store.js'
import type { ChangePage } from '../../storage.js'
import type { Logger } from '../../types/host.js'

/** The maximum number of changes, and of bytes, of one read of the log. */
export const pageOfLog = () => ({ limit: 500, bytes: bounds.readBytes })

/** The milliseconds that one read of the log waits for changes. */
const WAIT = 60_000

/** The maximum number of pages that are read for a new subscriber: clients may write as fast as pages are read. */
const MOST_PAGES = 20

/** The milliseconds after which an unavailable storage is retried. */
const PAUSE = 1000

interface ReaderOptions {
  readonly log: ReadLog
  readonly logger: Logger
  /** Processes a page. Returns the position up to which it was processed. An error ends all streams. */
  readonly take: (page: ChangePage) => Promise<string>
  readonly fail: () => void
}

/** Reads the log for all streams of a process, while any stream is open. */
export class LogReader {
  /** Runs work exclusively: no page is processed at the same time, and no other work of this kind runs. */
  readonly alone: RunAlone = createRunAlone()
  readonly #options: ReaderOptions
  #position = ''
  #beginning: Promise<void> | undefined
  #running: AbortController | undefined

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** The position after all changes that were processed. */
  get position(): string {
    return this.#position
  }

  /** Starts to read at the end of the log, unless it is reading already. */
  begin(): Promise<void> {
    this.#beginning ??= this.#begin()
    return this.#beginning
  }

  end(): void {
    this.#beginning = undefined
    this.#running?.abort()
    this.#running = undefined
  }

  /**
   * Processes all changes that are in the log now. Call it within `alone`. A subscriber must not join at the position
   * of the last read of this process, because hidden changes may have decided the time of that read.
   */
  async takeAll(): Promise<void> {
    const { log, take, fail } = this.#options
    const signal = this.#running?.signal
    for (let pages = 0; pages < MOST_PAGES && signal?.aborted === false; pages++) {
      const page = await log(this.#position, { ...pageOfLog(), signal })
      if (page.changes.length === 0 && !page.gap) return
      try {
        this.#position = await take(page)
      } catch (thrown) {
        fail()
        throw thrown
      }
    }
  }

  async #begin(): Promise<void> {
    const running = new AbortController()
    const { signal } = running
    this.#running = running
    try {
      const { position } = await this.#options.log(null, { ...pageOfLog(), signal })
      await this.alone(async () => {
        if (!signal.aborted) this.#position = position
      })
      void this.#read(signal)
    } catch (thrown) {
      if (this.#running === running) this.end()
      throw thrown
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { log, logger, take, fail } = this.#options
    while (!signal.aborted) {
      try {
        const from = this.#position
        const page = await log(from, { ...pageOfLog(), wait: WAIT, signal })
        await this.alone(async () => {
          // `takeAll` may already have processed this page for a new subscriber.
          if (signal.aborted || from !== this.#position) return
          this.#position = page.changes.length > 0 || page.gap ? await take(page) : page.position
        })
      } catch (cause) {
        if (signal.aborted) return
        if (isServiceError(cause) && cause.code === 'storage_unavailable') {
          logger.warn('the log of changes cannot be read; retrying')
        } else {
          logger.error('an error has ended all streams of changes', { cause })
          fail()
        }
        await sleep(PAUSE, signal)
      }
    }
  }
}
