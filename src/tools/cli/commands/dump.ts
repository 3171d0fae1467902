import { compileForTransfer, dump } from '../../transfer/dump.js'
import type { Tallies } from '../../transfer/dump-format.js'
import { TransferError } from '../../transfer/transfer-error.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { readExisting } from '../existing-storage.js'
import { readConfig } from '../read-config.js'
import type { Output, Terminal } from '../terminal.js'
import type { OnStart } from './serve.js'

/**
 * Writes a dump of a storage to the standard output, and its summary to the error output. Changes nothing. Throws
 * `FileError`, `ConfigError`, `StorageError` and `TransferError`.
 */
export async function dumpStorage(
  { config: path, storage, sessions }: ArgumentsOf<'dump'>,
  { complain }: Terminal,
  { openOutput, onStop }: { readonly openOutput: () => Output; readonly onStop: OnStart },
): Promise<void> {
  const config = await readConfig(path)
  const plan = compileForTransfer(config)
  const ending = new AbortController()
  const output = openOutput()
  // The callback of a write gets the error too.
  output.on('error', () => {})
  let leave = (): void => {}
  onStop(async () => {
    ending.abort()
    leave()
  })
  const write = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      // A reader that does not read must not delay the end.
      leave = resolve
      output.write(text, (cause) => {
        if (!cause) resolve()
        else reject(new TransferError('output_failed', `the output failed: ${cause.message}`, { cause }))
      })
    })
  const { collections, undeclared } = await readExisting(storage, (documents) =>
    dump(config, documents, write, { sessions, signal: ending.signal }),
  )
  for (const line of describeTallies(collections)) complain(line)
  if (undeclared.length > 0)
    complain(
      `Not in the dump, because the configuration does not declare them: ${undeclared.join(', ')}, which have documents.`,
    )
  if ([...plan.collections.values()].some(({ hashes }) => hashes.length > 0))
    complain(
      'The dump contains hashes of secrets. Keep it where only you can read it: chmod 600, or umask 077 before the command.',
    )
}

/** Describes collections, one in each line. */
export function describeTallies(collections: Tallies): readonly string[] {
  const rows = Object.entries(collections)
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, { documents, sha256 }]) => {
    const count = `${documents} document${documents === 1 ? '' : 's'}`
    return `${name.padEnd(width)}  ${count}, sha256 ${sha256}`
  })
}
