import { messageOf, textOf } from '../../sql/faults.js'

/** The codes of errors of backups and restores. They are stable. */
export type BackupCode =
  /** There is no file with this name. */
  | 'not_found'
  /** The file is no SQLite file, or it contains no documents of this service. */
  | 'not_a_storage'
  /** The integrity check of SQLite has found errors. */
  | 'damaged'
  /** A file with the name of the result exists, or one that SQLite would take for a part of it. */
  | 'already_exists'
  /** Another process has the file open. */
  | 'in_use'
  | 'no_folder'
  | 'no_space'
  | 'interrupted'
  /** The system reports any other error. */
  | 'failed'

/** The error of a backup or a restore. Its message names the file, what was found, what helps, and the code. */
export class BackupError extends Error {
  readonly code: BackupCode

  constructor(code: BackupCode, message: string, cause?: unknown) {
    super(`${message} (${code})`, cause === undefined ? {} : { cause })
    this.name = 'BackupError'
    this.code = code
  }
}

/** For each error code of SQLite or the system, the code of the error and the reason. */
const REASONS: readonly (readonly [thrown: RegExp, code: BackupCode, reason: string])[] = [
  [/^(?:SQLITE_FULL|ENOSPC|EDQUOT)/, 'no_space', 'the disk has no space left'],
  [/^SQLITE_NOTADB/, 'not_a_storage', 'it is not an SQLite file, or it is encrypted'],
  [/^SQLITE_CORRUPT/, 'damaged', 'it is damaged'],
  [/^SQLITE_(?:BUSY|LOCKED)/, 'in_use', 'another process has it open; stop all processes that use it'],
  [/^ENOENT$/, 'no_folder', 'its folder does not exist; create it'],
  [/^EEXIST$/, 'already_exists', 'it exists already, and is not overwritten'],
]

/** Runs a step of a backup. `doing` begins the message of its errors, and names the file. */
export async function explained<T>(doing: string, step: () => T | Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (thrown) {
    if (thrown instanceof BackupError) throw thrown
    const [, code = 'failed', reason = messageOf(thrown)] =
      REASONS.find(([known]) => known.test(textOf(thrown, 'code'))) ?? []
    throw new BackupError(code, `${doing}: ${reason}`, thrown)
  }
}
