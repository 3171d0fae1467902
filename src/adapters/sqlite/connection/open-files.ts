import { type BigIntStats, renameSync, rmSync, statSync } from 'node:fs'

/**
 * The files of an open database. SQLite goes on with them after they were deleted or replaced, and its writes are lost
 * then. Only `stat` is used: a process that opens and closes such a file by other means than SQLite loses all locks that
 * SQLite has on it (POSIX).
 */
export interface OpenFiles {
  /** Names these files. Files that lie at the same paths later have another name. */
  readonly name: string
  /** Whether they lie at their paths; never again once they did not. Looks at most every `LOOK` milliseconds. */
  areInPlace(): boolean
  /** The same, and looks at once. */
  checkNow(): boolean
  /** Whether there is a database file at the path. */
  isThere(): boolean
  /**
   * Called before they are closed: where another database file lies at the path, renames the log if it is still theirs,
   * since SQLite would apply it to that file.
   */
  putAsideLog(): void
}

/** The milliseconds between two looks for reads. */
const LOOK = 10

const WITH_BIGINTS = { bigint: true, throwIfNoEntry: false } as const

// Read at start: a fake clock of a test must not stop it.
const now = performance.now.bind(performance)

/** The file at a path; `undefined` where there is none, or none can be seen. */
function look(path: string): BigIntStats | undefined {
  try {
    return statSync(path, WITH_BIGINTS)
  } catch {
    return undefined
  }
}

const isSame = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
  one !== undefined && one.ino === other?.ino && one.dev === other.dev

/** Notes the files of a database that was just opened. */
export function noteOpenFiles(file: string): OpenFiles {
  const [log, index] = [`${file}-wal`, `${file}-shm`]
  const [opened, openedLog, openedIndex] = [look(file), look(log), look(index)]
  // Some file systems have no inodes, and on some SQLite keeps no log.
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
        `${file}, or its log, was deleted or replaced while it was open; the file that is there now is opened again, and every stream of changes gets a reset`,
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
      // Another process may have put it aside and made a new one just now.
      if (!isSame(openedLog, look(aside))) renameSync(aside, log)
      else if (isSame(openedIndex, look(index))) rmSync(index)
    },
  }
}

/** Temporary files, which end with the process: they are not watched. */
export const UNWATCHED: OpenFiles = {
  name: '',
  areInPlace: () => true,
  checkNow: () => true,
  isThere: () => true,
  putAsideLog() {},
}
