import { lstat, mkdtemp, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { STRUCTURES } from '../../sql/dialect.js'
import { textOf } from '../../sql/faults.js'
import { type Connection, openAlone, openExisting } from '../connection/connection.js'
import { IS_TABLE } from '../is-table.js'
import { hasContent } from '../read-existing.js'
import { BackupError, explained } from './backup-error.js'

export interface CopyOptions {
  /** Called some times a second, with the bytes that are copied and those of the file. */
  readonly onProgress: (copied: number, all: number) => void
  readonly signal: AbortSignal
}

/** The files that SQLite takes for parts of a database file, also if they come from another one. */
const PARTS = ['-wal', '-shm', '-journal']

/** Throws `BackupError` unless a new file can have this name. */
export async function requireUnused(file: string): Promise<void> {
  for (const path of [file, ...PARTS.map((part) => file + part)]) {
    const isThere = await lstat(path).then(
      () => true,
      () => false,
    )
    if (!isThere) continue
    const why =
      path === file ? 'it is not overwritten' : `SQLite would take it for a part of ${file}; move it away`
    throw new BackupError('already_exists', `${path} exists already: ${why}`)
  }
}

/** Opens a file of this service for reading only. Throws `BackupError` for any other file. */
export async function openStorage(file: string): Promise<Connection> {
  return explained(`${file} cannot be read`, async () => {
    await stat(file).catch((thrown: unknown) => {
      if (textOf(thrown, 'code') !== 'ENOENT') throw thrown
      throw new BackupError('not_found', `there is no file ${file}`)
    })
    const connection = await openExisting(file, await hasContent(`${file}-wal`))
    try {
      if (connection.first(IS_TABLE, [STRUCTURES]) === 1) return connection
    } catch (thrown) {
      connection.close()
      throw thrown
    }
    connection.close()
    throw new BackupError('not_a_storage', `${file} contains no documents of this service`)
  })
}

/**
 * Copies a file of this service to a new folder beside `target`, as of the moment of the call, checks the copy, and
 * calls `work` with its name. The copy is one file without a log. If `work` does not move it away, it is removed with
 * the folder. Throws `BackupError`.
 */
export async function withCheckedCopy<T>(
  source: string,
  target: string,
  { onProgress, signal }: CopyOptions,
  work: (copy: string) => Promise<T>,
): Promise<T> {
  const connection = await openStorage(source)
  let folder: string | undefined
  const proceed = (): void => {
    if (signal.aborted)
      throw new BackupError('interrupted', `${source} was not copied, because a signal ended the command`)
  }
  try {
    // Other users can read nothing in this folder.
    const created = await explained(`${target} cannot be written`, () => mkdtemp(`${target}.partial-`))
    folder = created
    const copy = join(created, 'copy.db')
    await explained(`${source} cannot be copied to ${target}`, async () => {
      await connection.copyTo(copy, (copied, all) => {
        proceed()
        onProgress(copied, all)
      })
      await check(copy, source)
    })
    // A signal that came during the check is handled between these turns.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    proceed()
    return await work(copy)
  } finally {
    connection.close()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
}

/** Checks a copy: all pages, and that the indexes agree with the tables. */
async function check(copy: string, source: string): Promise<void> {
  const connection = await openAlone(copy)
  try {
    const [found, ...others] = connection.all('PRAGMA integrity_check(2)', []).map(String)
    if (found !== 'ok' || others.length > 0)
      throw new BackupError('damaged', `${source} is damaged, and so is its copy. SQLite has found: ${found}`)
  } finally {
    connection.close()
  }
}
