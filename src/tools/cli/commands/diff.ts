import { ConfigError } from '../../../core/errors.js'
import { compileAmong } from '../../insight/compile.js'
import { comparePermissions } from '../../insight/diff/compare-permissions.js'
import { describeDifferences } from '../../insight/diff/describe-differences.js'
import type { InsightOptions } from '../../insight/options.js'
import { coloured, plain } from '../../insight/text/paint.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { readConfig } from '../read-config.js'
import type { Terminal } from '../terminal.js'

/**
 * Prints the differences between the permissions of two configurations. The exit code is 1 if `--fail-on widening` is
 * given and there is a difference other than a narrowing, else 0. Throws `FileError` and `ConfigError`.
 */
export async function diff(
  { before, after, format, authenticate, production, hooks, failsOnWidening }: ArgumentsOf<'diff'>,
  { print, isColoured = false }: Terminal,
): Promise<number> {
  const options = { authenticate, production, ...(hooks ? { hooks } : {}) }
  const [was, is] = [await readValid(before, options), await readValid(after, options)]
  const differences = comparePermissions(was, is, options)
  print(describeDifferences(differences, format, isColoured ? coloured : plain))
  return failsOnWidening && differences.some(({ kind }) => kind !== 'narrowing') ? 1 : 0
}

/** Reads and compiles one of the two configurations. Errors name the file. */
async function readValid(file: string, options: InsightOptions): Promise<unknown> {
  const config = await readConfig(file)
  try {
    compileAmong(config, options)
    return config
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    throw new ConfigError(thrown.faults.map((fault) => ({ ...fault, path: `${file} ${fault.path || '/'}` })))
  }
}
