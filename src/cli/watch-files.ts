import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

/** How often files are looked at, in milliseconds. */
const INTERVAL = 150

/** Looks at files until it is stopped. */
export interface Watching {
  /** Resolves when no call is under way, and none will come. */
  stop(): Promise<void>
}

/** What files look like from outside: another text when one was written, replaced or removed. */
export async function readState(files: readonly string[]): Promise<string> {
  const states = await Promise.all(
    files.map((file) =>
      stat(file, { bigint: true }).then(
        ({ ino, size, mtimeNs }) => `${ino} ${size} ${mtimeNs}`,
        () => 'none',
      ),
    ),
  )
  return states.join('\n')
}

/**
 * Calls back when files no longer are what they were, one call at a time. Asks for the files by name, again and again:
 * editors put a new file in the place of the old one, and not every file system tells of it.
 */
export function watchFiles(
  files: readonly string[],
  before: string,
  onChange: () => Promise<void>,
): Watching {
  const ending = new AbortController()
  const { signal } = ending
  const look = async (): Promise<void> => {
    let [known, seen] = [before, before]
    while (!signal.aborted) {
      const state = await readState(files)
      // The same twice: what is written in several steps is complete.
      if (state !== known && state === seen) {
        known = state
        await onChange()
      }
      seen = state
      await wait(INTERVAL, undefined, { signal }).catch(() => {})
    }
  }
  const looking = look()
  return {
    async stop() {
      ending.abort()
      await looking
    },
  }
}
