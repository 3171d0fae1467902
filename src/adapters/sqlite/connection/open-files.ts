import { type BigIntStats, renameSync, rmSync, statSync } from 'node:fs'

/**
 * The files of an open database. SQLite continues to use them after they were deleted or replaced, and its writes are
 * then lost. They are only checked with `stat`: a process that opens and closes such a file by other means than
 * SQLite loses all locks that SQLite has on it (POSIX).
 */
export interface OpenFiles {
  /** The name of these files. Later files at the same paths have another name. */
  readonly name: string
  /**
   * Whether the files are still at their paths; false forever once they were not. Checks at most every `LOOK`
   * milliseconds.
   */
  areInPlace(): boolean
  /** The same, but checks at once. */
  checkNow(): boolean
  /** Whether there is a database file at the path. */
  isThere(): boolean
  /**
   * Called before the files are closed: if another database file is at the path, renames the log if it still belongs
   * to the closed file, because SQLite would apply it to the other one.
   */
  putAsideLog(): void
}

/** Milliseconds between checks for reads. */
const LOOK = 10

const WITH_BIGINTS = { bigint: true, throwIfNoEntry: false } as const

// Captured on load: the fake timers of a test must not stop this module.
const now = performance.now.bind(performance)

/** The file at a path; `undefined` if there is none, or it is inaccessible. */
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
        `${file}, or its log, was deleted or replaced while it was open; the current file is opened instead, and every stream of changes receives a reset`,
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
      // Another process may just have renamed the log and created a new one.
      if (!isSame(openedLog, look(aside))) renameSync(aside, log)
      else if (isSame(openedIndex, look(index))) rmSync(index)
    },
  }
}

/** Temporary files, which are deleted with the process, so they are not watched. */
export const UNWATCHED: OpenFiles = {
  name: '',
  areInPlace: () => true,
  checkNow: () => true,
  isThere: () => true,
  putAsideLog() {},
}
