import { comparePermissions } from '../../insight/diff/compare-permissions.js'
import { describeDifferences } from '../../insight/diff/describe-differences.js'
import { coloured, plain } from '../../insight/text/paint.js'
import type { DiffArguments } from '../arguments/arguments.js'
import { readJsonFile } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

/**
 * Prints what two configurations answer differently. The exit code is 1 under `--fail-on widening` where there is
 * anything but a narrowing, else 0. Throws `FileError` and `ConfigError`.
 */
export async function diff(
  { before, after, format, authenticate, production, failsOnWidening }: DiffArguments,
  { print, isColoured = false }: Terminal,
): Promise<number> {
  const differences = comparePermissions(await readJsonFile(before), await readJsonFile(after), {
    authenticate,
    production,
  })
  print(describeDifferences(differences, format, isColoured ? coloured : plain))
  return failsOnWidening && differences.some(({ kind }) => kind !== 'narrowing') ? 1 : 0
}
