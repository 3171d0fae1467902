import { bounds } from '../../bounds.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import { type ByteBudget, boundBytes } from '../byte-budget.js'

/**
 * Limits the documents that a batch remembers: each shown document counts once for the budget of the batch; of the
 * others a bounded amount is kept.
 */
export class ReadBudget {
  readonly #budget: ByteBudget
  readonly #counted = new WeakSet<StoredDocument>()
  #kept = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /** Counts a document as it is shown, unless it was already counted; false if it is not shown. */
  count(document: StoredDocument, show: ((document: StoredDocument) => JsonObject) | undefined): boolean {
    if (!show) return false
    if (!this.#counted.has(document)) this.#budget.take(show(document))
    this.#counted.add(document)
    return true
  }

  /** Whether a document that counts for no budget can be remembered. */
  hasRoom(document: StoredDocument): boolean {
    this.#kept += boundBytes(document)
    return this.#kept <= bounds.rememberedBytes
  }
}
