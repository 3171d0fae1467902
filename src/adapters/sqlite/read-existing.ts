import { stat } from 'node:fs/promises'
import type { StoredDocument } from '../../core/storage.js'
import type { ExistingDocuments } from '../sql/engine.js'
import { tableNameOf } from '../sql/table-names.js'
import { openExisting } from './connection/connection.js'
import { explain } from './faults.js'
import { IS_TABLE } from './is-table.js'
import { sqliteEngine } from './sqlite-engine.js'

/**
 * Opens an existing SQLite file for reading only. Nothing is created or changed, even while other processes write to
 * the file. Rejects with `storage_unavailable` if there is no such file.
 */
export async function readExistingFile(file: string): Promise<ExistingDocuments> {
  const connection = await openExisting(file, await hasContent(`${file}-wal`)).catch((thrown) => {
    throw explain(thrown)
  })
  const isThere = (collection: string): boolean => connection.first(IS_TABLE, [tableNameOf(collection)]) === 1
  return {
    async list(collection, query) {
      if (!isThere(collection)) return []
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
    },
    async close() {
      connection.close()
    },
  }
}

const hasContent = (file: string): Promise<boolean> =>
  stat(file).then(
    ({ size }) => size > 0,
    () => false,
  )
