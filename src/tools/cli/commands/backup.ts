import { backUp } from '../../../adapters/sqlite/backup/back-up.js'
import type { CopyOptions } from '../../../adapters/sqlite/backup/checked-copy.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import type { Terminal } from '../terminal.js'
import type { OnStart } from './serve.js'

/** Copies a SQLite file, which processes may serve meanwhile, to a new file. Throws `BackupError`. */
export async function backUpFile(
  { file, out }: ArgumentsOf<'backup'>,
  terminal: Terminal,
  onStop: OnStart,
): Promise<void> {
  const bytes = await backUp(file, out, watchCopy(terminal, onStop))
  terminal.print(`Copied ${file} to ${out}, and checked the copy: ${describeBytes(bytes)}.`)
}

/** The minimum number of milliseconds between two lines about the progress. */
const PAUSE = 1000

/** Prints the progress of a copy on the error output, and ends the copy when a signal ends the command. */
export function watchCopy(
  { complain }: Pick<Terminal, 'complain'>,
  onStop: OnStart,
  now: () => number = () => performance.now(),
): CopyOptions {
  const ending = new AbortController()
  onStop(async () => ending.abort())
  let printed = now()
  return {
    signal: ending.signal,
    onProgress(copied, all) {
      if (now() - printed < PAUSE) return
      printed = now()
      complain(`Copied ${describeBytes(copied)} of ${describeBytes(all)}.`)
    },
  }
}

export const describeBytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
