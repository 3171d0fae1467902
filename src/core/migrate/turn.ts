import { isId } from '../filter/filter.js'
import { drawFirstVersion } from '../first-version.js'
import { sleep } from '../promises.js'
import type { StorageAdapter, StoredDocument, WriteResult, WriteStep } from '../storage.js'
import { SCHEMA } from '../stored/record/schema-record.js'

/** The milliseconds for which a runner must see no write of another one before it takes the turn. */
const PATIENCE = 15_000

/** The milliseconds after which a runner that writes nothing else renews its turn. */
const BEAT = 5000

/** The milliseconds between two looks at the turn of another runner. */
const LOOK = 500

const TURN = 'turn'

/**
 * The right to migrate a storage, which one runner at a time has. It is taken before the first write. Each write of a
 * runner renews it, and fails if another runner has taken it meanwhile.
 */
export class Turn {
  readonly #adapter: Pick<StorageAdapter, 'list' | 'write'>
  readonly #signal: AbortSignal
  readonly #holder = crypto.randomUUID()
  #version: number | undefined
  #renewed = 0

  constructor(adapter: Pick<StorageAdapter, 'list' | 'write'>, signal: AbortSignal) {
    this.#adapter = adapter
    this.#signal = signal
  }

  /** Waits until no other runner has the turn, and takes it. */
  async take(): Promise<void> {
    let seen: number | undefined
    let seenAt = 0
    while (this.#version === undefined) {
      const found = await this.#read()
      if (found && found._version !== seen) {
        seen = found._version
        seenAt = performance.now()
      }
      const isFree = !found || found.holder === null || performance.now() - seenAt >= PATIENCE
      if (!isFree) {
        await sleep(LOOK, this.#signal)
        this.#signal.throwIfAborted()
        continue
      }
      const version = found ? found._version + 1 : drawFirstVersion()
      const document = { _id: TURN, _version: version, holder: this.#holder }
      const step: WriteStep = found
        ? { in: SCHEMA, replace: document, version: found._version }
        : { in: SCHEMA, insert: document }
      const { ok } = await this.#adapter.write([step], {})
      if (ok) this.#note(version)
    }
  }

  /**
   * Runs a write as one of this turn. Returns its result; the step of a failure counts from the first of `steps`.
   * `undefined` if another runner has taken the turn: nothing was written then.
   */
  async write(steps: readonly WriteStep[]): Promise<WriteResult | undefined> {
    await this.take()
    return this.#write(steps)
  }

  async #write(
    steps: readonly WriteStep[],
    holder: string | null = this.#holder,
  ): Promise<WriteResult | undefined> {
    const version = this.#version
    if (version === undefined) return undefined
    const document = { _id: TURN, _version: version + 1, holder }
    const result = await this.#adapter.write([{ in: SCHEMA, replace: document, version }, ...steps], {
      isMigration: true,
    })
    if (result.ok) {
      this.#note(version + 1)
      return result
    }
    if (result.step > 0) return { ...result, step: result.step - 1 }
    this.#version = undefined
    return undefined
  }

  /** Renews the turn, if this runner has it and has not written for some seconds. */
  async renew(): Promise<void> {
    if (this.#version !== undefined && performance.now() - this.#renewed >= BEAT) await this.#write([])
  }

  /** Gives the turn to the next runner. */
  async release(): Promise<void> {
    await this.#write([], null)
    this.#version = undefined
  }

  #note(version: number): void {
    this.#version = version
    this.#renewed = performance.now()
  }

  async #read(): Promise<(StoredDocument & { readonly holder?: unknown }) | undefined> {
    const [found] = await this.#adapter.list(SCHEMA, { filter: isId(TURN), sort: [], skip: 0, limit: 1 })
    return found
  }
}
