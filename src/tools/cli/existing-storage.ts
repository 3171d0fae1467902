import { access } from 'node:fs/promises'
import { readExistingDatabase } from '../../adapters/postgres/read-existing.js'
import type { ExistingDocuments } from '../../adapters/sql/engine.js'
import { readExistingFile } from '../../adapters/sqlite/read-existing.js'
import { TransferError } from '../transfer/transfer-error.js'
import type { StorageArguments } from './arguments/commands.js'
import { describeCause, nameStorage, StorageError } from './create-storage.js'
import { FileError } from './read-json-file.js'

/** Throws `FileError` if the file of a storage does not exist. A misspelt name would otherwise create a new file. */
export async function refuseNewFile(storage: StorageArguments): Promise<void> {
  if (storage.kind !== 'file') return
  await access(storage.file).catch(() => {
    throw new FileError(`there is no file ${storage.file}`)
  })
}

/**
 * Opens a storage, reads from it with `work`, and closes it. It changes nothing. Throws `FileError` and `StorageError`;
 * a `TransferError` of `work` passes.
 */
export async function readExisting<T>(
  storage: StorageArguments,
  work: (documents: ExistingDocuments) => Promise<T>,
): Promise<T> {
  await refuseNewFile(storage)
  let documents: ExistingDocuments | undefined
  try {
    documents = await open(storage)
    return await work(documents)
  } catch (cause) {
    if (cause instanceof TransferError) throw cause
    throw new StorageError(`${nameStorage(storage)} cannot be read: ${describeCause(cause)}`, { cause })
  } finally {
    await documents?.close().catch(() => {})
  }
}

const open = (storage: StorageArguments): Promise<ExistingDocuments> =>
  storage.kind === 'file' ? readExistingFile(storage.file) : readExistingDatabase(storage.url, storage.schema)
