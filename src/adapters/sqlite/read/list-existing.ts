import type { Listed, ListQuery, StoredDocument } from '../../../core/storage.js'
import { tableNameOf } from '../../sql/table-names.js'
import type { Connection } from '../connection/connection.js'
import { IS_TABLE } from '../is-table.js'
import { sqliteEngine } from '../sqlite-engine.js'

/** Lists documents; none if the collection has no table. The filter must not contain patterns. */
export function listExisting(connection: Connection, collection: string, query: ListQuery): Listed {
  if (connection.first(IS_TABLE, [tableNameOf(collection)]) !== 1) return []
  const { text, values } = sqliteEngine.statements.list(collection, query)
  const found: StoredDocument[] = []
  let { bytes = Number.POSITIVE_INFINITY } = query
  for (const row of connection.iterate(text, values)) {
    const document = String(row)
    bytes -= document.length
    if (bytes < 0 && found.length > 0) break
    found.push(JSON.parse(document) as StoredDocument)
  }
  return found
}
