import type { WriteStep } from '../../../core/storage.js'
import { type Connection, readDataVersion } from '../connection/connection.js'

/**
 * The number of files that this process has opened. Each file's states contain it, because the writes to each file are
 * counted from 0.
 */
let opened = 0

/**
 * Creates strings that identify the current content of collections (see `StorageAdapter.state`). Writes of this
 * connection are counted per collection. Commits of other connections change the file's data version, and so the states
 * of all collections.
 */
export class States {
  readonly #connection: Connection
  readonly #name = ++opened
  readonly #written = new Map<string, number>()
  /** The number of transactions that failed, or whose outcome is unknown. */
  #failures = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Returns `undefined` if the file cannot be read. The next read reports the reason. */
  find(collections: readonly string[]): string | undefined {
    try {
      const others = readDataVersion(this.#connection)
      const written = collections.map((one) => this.#written.get(one) ?? 0)
      return `${this.#name} ${this.#failures} ${others} ${written}`
    } catch {
      return undefined
    }
  }

  /** Called with the steps of all writes that were committed together. */
  tookEffect(steps: readonly WriteStep[]): void {
    for (const name of new Set(steps.map((step) => step.in)))
      this.#written.set(name, (this.#written.get(name) ?? 0) + 1)
  }

  /** Called when a transaction was not committed, or when it is unknown whether it was. */
  failed(): void {
    this.#failures += 1
  }
}
