import { stat } from 'node:fs/promises'
import { type CopyOptions, requireUnused, withCheckedCopy } from './checked-copy.js'
import { placeFile } from './place-file.js'

/** The permissions that a backup takes from its source: those of the owner and the group, because it contains hashes. */
const KEPT = 0o660

/**
 * Copies the SQLite file `source` of a service, which may run and write, to the new file `out`. The copy has every write
 * that was acknowledged before the call, and each write as a whole. It gets its name when it has been checked and is on
 * disk. Resolves with its size in bytes. Throws `BackupError`.
 */
export async function backUp(source: string, out: string, options: CopyOptions): Promise<number> {
  await requireUnused(out)
  return withCheckedCopy(source, out, options, async (copy) => {
    await placeFile(copy, out, (await stat(source)).mode & KEPT)
    return (await stat(out)).size
  })
}
