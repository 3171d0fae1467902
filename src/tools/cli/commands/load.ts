import { isServiceError } from '../../../core/errors.js'
import { load } from '../../transfer/load.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { UsageError } from '../arguments/options.js'
import { createStorage, describeCause, nameStorage, StorageError, usingStorage } from '../create-storage.js'
import { readConfig } from '../read-config.js'
import type { Terminal } from '../terminal.js'
import { describeTallies } from './dump.js'
import type { OnStart } from './serve.js'

/** The input stream of a process. It may be a terminal. */
export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean
  destroy(): unknown
}

/**
 * Stores the dump that the standard input contains, and prints its collections. Throws `UsageError`, `FileError`,
 * `ConfigError`, `StorageError` and `TransferError`.
 */
export async function loadDump(
  { config: path, storage, resume }: ArgumentsOf<'load'>,
  { print }: Terminal,
  { openInput, onStop }: { readonly openInput: () => Input; readonly onStop: OnStart },
): Promise<void> {
  const config = await readConfig(path)
  const input = openInput()
  if (input.isTTY)
    throw new UsageError('load reads a dump from its input: add < dump.ndjson, or a pipe from dump')
  const ending = new AbortController()
  onStop(async () => {
    ending.abort()
    input.destroy()
  })
  const adapter = createStorage(storage)
  const { signal } = ending
  try {
    const loaded = await usingStorage(adapter, () => load(config, adapter, input, { resume, signal }))
    for (const line of describeTallies(loaded.collections)) print(line)
    const before = loaded.present > 0 ? `, ${loaded.present} were already stored` : ''
    print(`Loaded ${loaded.written} documents${before}. The storage agrees with the dump.`)
  } catch (cause) {
    if (!isServiceError(cause)) throw cause
    throw new StorageError(
      `${nameStorage(storage)} cannot be used: ${describeCause(cause)}. The documents stored so far remain; load the whole dump with --resume to continue`,
      { cause },
    )
  } finally {
    // An open pipe would keep the process alive after an error.
    input.destroy()
  }
}
