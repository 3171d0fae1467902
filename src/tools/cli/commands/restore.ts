import { restore } from '../../../adapters/sqlite/backup/restore.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import type { Terminal } from '../terminal.js'
import { describeBytes, watchCopy } from './backup.js'
import type { OnStart } from './serve.js'

/** Puts a backup in the place of a SQLite file that no process uses. Throws `BackupError`. */
export async function restoreFile(
  { backup, file, replaces }: ArgumentsOf<'restore'>,
  terminal: Terminal,
  onStop: OnStart,
): Promise<void> {
  const { print } = terminal
  const { bytes, before } = await restore(backup, file, { replaces, ...watchCopy(terminal, onStop) })
  print(`Restored ${file} from ${backup}, and checked it: ${describeBytes(bytes)}.`)
  if (before !== undefined) print(`The earlier file is now ${before}.`)
}
