import { type BigIntStats, renameSync, rmSync, statSync } from 'node:fs'

/**
 * The files of an open database. If they are deleted or replaced, SQLite continues to use the old files, and its writes
 * are lost. The files are checked only with `stat`, because a process that opens and closes such a file without SQLite
 * loses all locks that SQLite has on the file (POSIX).
 */
export interface OpenFiles {
  /** Identifies these files: other files that are later at the same paths have another name. */
  readonly name: string
  /**
   * Whether the files are still at their paths. Once false, the result remains false. The paths are checked at most
   * every `LOOK` milliseconds.
   */
  areInPlace(): boolean
  /** Like `areInPlace`, but checks the paths immediately. */
  checkNow(): boolean
  /** Whether any file is at the path of the database. */
  isThere(): boolean
  /**
   * Prepares for closing the files. If another database file is at the path now, but the log at its path still belongs
   * to the file to be closed, renames the log, because SQLite would apply it to the other file.
   */
  putAsideLog(): void
}

/** The minimum number of milliseconds between two checks of the paths. */
const LOOK = 10

const WITH_BIGINTS = { bigint: true, throwIfNoEntry: false } as const

// Captured while the module loads, so that fake timers of a test do not affect it.
const now = performance.now.bind(performance)

/** Returns the identity of the file at a path, or `undefined` if there is no file or it is inaccessible. */
function look(path: string): BigIntStats | undefined {
  try {
    return statSync(path, WITH_BIGINTS)
  } catch {
    return undefined
  }
}

const isSame = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
  one !== undefined && one.ino === other?.ino && one.dev === other.dev

/** Records the files of a database that was just opened. */
export function noteOpenFiles(file: string): OpenFiles {
  const [log, index] = [`${file}-wal`, `${file}-shm`]
  const [opened, openedLog, openedIndex] = [look(file), look(log), look(index)]
  // Only files with an inode number are watched: some file systems have none, and on some SQLite keeps no log.
  const watched = (
    [
      [file, opened],
      [log, openedLog],
    ] as const
  ).filter(([, found]) => found?.ino)
  let isLost = false
  let lookedAt = now()

  const checkNow = (): boolean => {
    if (isLost) return false
    lookedAt = now()
    isLost = !watched.every(([path, found]) => isSame(found, look(path)))
    if (isLost)
      process.emitWarning(
        `the database file ${file} or its log was deleted or replaced while it was open; the file that is at this path now is opened instead, and every stream of changes receives a reset`,
        { code: 'COLLECTION_SERVICE_SQLITE_REPLACED' },
      )
    return !isLost
  }
  return {
    name: openedLog ? `${openedLog.ino}.${openedLog.birthtimeNs}` : '',
    areInPlace: () => (now() - lookedAt < LOOK ? !isLost : checkNow()),
    checkNow,
    isThere: () => look(file) !== undefined,
    putAsideLog() {
      const there = look(file)
      if (!there || isSame(opened, there) || !isSame(openedLog, look(log))) return
      const aside = `${log}-${Date.now()}`
      renameSync(log, aside)
      // If another process has just renamed the log and created a new one, the new log was renamed here, so it is put
      // back.
      if (!isSame(openedLog, look(aside))) renameSync(aside, log)
      else if (isSame(openedIndex, look(index))) rmSync(index)
    },
  }
}

/** The value for temporary files. They are not watched, because they exist only as long as the process. */
export const UNWATCHED: OpenFiles = {
  name: '',
  areInPlace: () => true,
  checkNow: () => true,
  isThere: () => true,
  putAsideLog() {},
}
