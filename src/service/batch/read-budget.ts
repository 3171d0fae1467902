import { bounds } from '../../bounds.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import { type ByteBudget, boundBytes } from '../byte-budget.js'

/** What may be remembered of what is read: what is shown counts for the budget of a batch, once; of the rest some is kept. */
export class ReadBudget {
  readonly #budget: ByteBudget
  readonly #counted = new WeakSet<StoredDocument>()
  #kept = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /** Counts a document as it is shown, unless it has been; false where it is not shown. */
  count(document: StoredDocument, show: ((document: StoredDocument) => JsonObject) | undefined): boolean {
    if (!show) return false
    if (!this.#counted.has(document)) this.#budget.take(show(document))
    this.#counted.add(document)
    return true
  }

  /** Whether a document can be remembered that no budget bounds. */
  hasRoom(document: StoredDocument): boolean {
    this.#kept += boundBytes(document)
    return this.#kept <= bounds.rememberedBytes
  }
}
