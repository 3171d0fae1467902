import { stat } from 'node:fs/promises'
import type { ExistingDocuments } from '../sql/engine.js'
import { openExisting } from './connection/connection.js'
import { readLeft } from './database.js'
import { explain } from './faults.js'
import { listExisting } from './read/list-existing.js'
import { openSnapshot } from './read/snapshot.js'

/**
 * Opens an existing SQLite file for reading only. Nothing is created or changed, even while other processes write to
 * the file. Rejects with `storage_unavailable` if there is no such file.
 */
export async function readExistingFile(file: string): Promise<ExistingDocuments> {
  const connection = await openExisting(file, await hasContent(`${file}-wal`)).catch((thrown) => {
    throw explain(thrown)
  })
  return {
    async list(collection, query) {
      return listExisting(connection, collection, query)
    },
    snapshot: () => openSnapshot(connection),
    async leftUnique(plans) {
      return readLeft(connection, plans)
    },
    async close() {
      connection.close()
    },
  }
}

/** Whether a file exists and is not empty. */
export const hasContent = (file: string): Promise<boolean> =>
  stat(file).then(
    ({ size }) => size > 0,
    () => false,
  )
