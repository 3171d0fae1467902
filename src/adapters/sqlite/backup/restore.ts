import { realpath, stat } from 'node:fs/promises'
import { quoteName } from '../../sql/dialect.js'
import { LOG_HEAD } from '../../sql/log/recorder.js'
import { type Connection, openAlone } from '../connection/connection.js'
import { IS_TABLE } from '../is-table.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { BackupError, explained } from './backup-error.js'
import { type CopyOptions, openStorage, requireUnused, withCheckedCopy } from './checked-copy.js'
import { placeFile, replaceFile } from './place-file.js'

export interface RestoreOptions extends CopyOptions {
  /** Whether an existing file may be replaced. */
  readonly replaces: boolean
}

/** The result of a restore. */
export interface Restored {
  /** The size of the restored file in bytes. */
  readonly bytes: number
  /** The name that the earlier file has now; `undefined` if there was none. */
  readonly before: string | undefined
}

/**
 * Copies a backup to `file`, checks it, and gives its log a new name. No process may have `file` open. An earlier file
 * is kept under another name. Throws `BackupError`, and then `file` is unchanged.
 */
export async function restore(
  backup: string,
  file: string,
  { replaces, ...options }: RestoreOptions,
): Promise<Restored> {
  const earlier = await realpath(file).catch(() => undefined)
  if (earlier === undefined) {
    await requireUnused(file)
    return withCheckedCopy(backup, file, options, async (copy) => {
      await renameLog(copy)
      await placeFile(copy, file, 0o600)
      return { bytes: (await stat(file)).size, before: undefined }
    })
  }
  if (!replaces)
    throw new BackupError(
      'already_exists',
      `${file} exists already; with --yes, restore replaces it, and keeps the earlier file as ${file}.before-<time>`,
    )
  const lock = await lockFile(earlier)
  try {
    return await withCheckedCopy(backup, earlier, options, async (copy) => {
      await renameLog(copy)
      const before = `${earlier}.before-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
      await replaceFile(copy, earlier, before)
      return { bytes: (await stat(earlier)).size, before }
    })
  } finally {
    lock.close()
  }
}

/**
 * Moves the log of a file into it, and locks the file, so that no process opens it until the connection is closed. A
 * process that has opened it for writing until then fails (`SQLITE_READONLY_DBMOVED`), because the file has been renamed
 * and is not in WAL mode.
 */
async function lockFile(file: string): Promise<Connection> {
  const found = await openStorage(file).catch((thrown: unknown) => {
    if (!(thrown instanceof BackupError) || thrown.code === 'in_use') throw thrown
    throw new BackupError(
      thrown.code,
      `${file} is damaged or not a file of this service, so it cannot be locked and is not replaced; stop all processes and move it away`,
      thrown,
    )
  })
  found.close()
  return explained(`${file} cannot be replaced`, async () => {
    const connection = await openAlone(file)
    connection.execute('BEGIN EXCLUSIVE')
    return connection
  })
}

/** The table of the consumers, whose documents contain positions in the log. */
const CONSUMERS = '_consumers'

/**
 * Gives the log of a restored file a new name: a position that was given after the backup may be that of another change
 * now. Streams get a `reset`. The consumers in the file keep their places, because these are places of this log.
 */
async function renameLog(file: string): Promise<void> {
  const connection = await openAlone(file)
  const readName = (): unknown => connection.first(`SELECT log FROM ${quoteName(LOG_HEAD)}`, [])
  try {
    if (connection.first(IS_TABLE, [LOG_HEAD]) !== 1) return
    connection.execute('BEGIN IMMEDIATE')
    const former = readName()
    connection.run(sqliteDialect.newLog, [])
    if (connection.first(IS_TABLE, [`c_${CONSUMERS}`]) === 1) {
      const table = sqliteDialect.table(CONSUMERS)
      // A position is a JSON array in a JSON text. Its first element is the name of the log.
      const [from, to] = [former, readName()].map((name) => `"[\\"${name}\\",`)
      connection.run(`UPDATE ${table} SET document = replace(document, ?, ?)`, [from ?? '', to ?? ''])
    }
    connection.execute('COMMIT')
  } finally {
    connection.close()
  }
}
