import Loki from 'lokijs'
import type { StoredDocument } from '../../storage.js'

/** What LokiJS keeps: it writes a `$loki` of its own into a row, and never sees the frozen document's fields. */
export interface Row {
  readonly _id: string
  document: StoredDocument
}

/** The documents of one collection, by `_id` and in the order of `_id`. */
export interface Rows {
  readonly size: number
  get(id: string): Row | undefined
  insert(document: StoredDocument): void
  replace(document: StoredDocument): void
  remove(id: string): void
  /** All rows in whatever order; until the next write. */
  inAnyOrder(): readonly Row[]
  /** All rows, ascending by `_id`; until the next write. */
  inOrder(): readonly Row[]
}

/** A database that lives in memory only, whatever runtime it finds itself in. */
export const createDatabase = (): Loki =>
  new Loki('memory', { env: 'NA', persistenceMethod: 'memory', autosave: false })

/**
 * LokiJS as the container of rows, and nothing else of it: what its indexes, queries, constraints and metadata do to
 * documents is not what this service promises.
 */
export function createRows(database: Loki, name: string): Rows {
  const collection: Collection<Row> = database.addCollection<Row>(name, {
    disableMeta: true,
    disableChangesApi: true,
    asyncListeners: false,
    clone: false,
  })
  const byId = new Map<string, Row>()
  let last = ''
  // Ids ascend as a rule, and then LokiJS's own order is that of `_id`; else a sorted copy is kept while it lasts.
  let isAscending = true
  let sorted: readonly Row[] | undefined

  return {
    get size() {
      return byId.size
    },
    get: (id) => byId.get(id),
    insert(document) {
      const row: Row = { _id: document._id, document }
      collection.insert(row)
      byId.set(row._id, row)
      if (row._id > last) last = row._id
      else isAscending = false
      sorted = undefined
    },
    replace(document) {
      const row = byId.get(document._id)
      if (row) row.document = document
    },
    remove(id) {
      const row = byId.get(id)
      if (!row) return
      collection.remove(row as Row & LokiObj)
      byId.delete(id)
      sorted = undefined
    },
    inAnyOrder: () => collection.data,
    inOrder() {
      if (isAscending) return collection.data
      sorted ??= [...collection.data].sort((a, b) => (a._id < b._id ? -1 : 1))
      return sorted
    },
  }
}
