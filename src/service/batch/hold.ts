import type { OrderKey } from '../../filter/order.js'
import { pickOwn } from '../../json/own-properties.js'
import type { Listed, StoredDocument } from '../../storage.js'
import { boundBytes } from '../byte-budget.js'

/** Holds the documents of a list up to some bytes, counted roughly; of the rest only ids and sort fields. */
export interface Hold {
  take(document: StoredDocument): StoredDocument
  /** The list in its order: documents up to the first that is not held, and the ids of the rest. */
  page(listed: readonly StoredDocument[]): Listed
}

/** Creates a hold. The first document is held regardless of its size. `bytes`: default no limit. */
export function createHold(sort: readonly OrderKey[], bytes = Number.POSITIVE_INFINITY): Hold {
  const ordering = sort.map(({ field: { path } }) => path.split('.')[0] ?? path)
  const cut = new Set<StoredDocument>()
  let left = bytes
  let isFirst = true
  return {
    take(document) {
      if (left < Number.POSITIVE_INFINITY) left -= boundBytes(document)
      if (left >= 0 || isFirst) {
        isFirst = false
        return document
      }
      const { _id, _version } = document
      const stub = Object.assign({}, pickOwn(document, ordering), { _id, _version })
      cut.add(stub)
      return stub
    },
    page(listed) {
      const end = listed.findIndex((document) => cut.has(document))
      if (end < 0) return listed
      return Object.assign(listed.slice(0, end), { rest: listed.slice(end).map(({ _id }) => _id) })
    },
  }
}
