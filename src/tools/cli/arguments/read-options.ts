import type { AnyHooks } from '../../../core/hooks/types.js'
import type { StorageArguments } from './arguments.js'
import type { OptionName } from './options.js'
import { UsageError } from './usage-error.js'

/** The values of each option. The list is empty if the option is not on the command line. */
export type OptionValues = { readonly [name in OptionName]: readonly string[] }

/** The configuration that is used if the command line names none. */
export const DEFAULT_CONFIG = 'config.json'

/** Returns the configuration that a command line names. Throws `UsageError` for more than one. */
export function readConfig([config = DEFAULT_CONFIG, ...others]: readonly string[]): string {
  if (others.length > 0)
    throw new UsageError(`only one configuration can be given; also found ${others.join(', ')}`)
  checkText(config, 'the name of the configuration')
  return config
}

/** Returns the storage that the options name; `undefined` if they name none. Throws `UsageError`. */
export function readStorage({ data, database, schema }: OptionValues): StorageArguments | undefined {
  const [[file], [url], [place]] = [data, database, schema]
  if (file !== undefined && url !== undefined)
    throw new UsageError('--data and --database cannot be used together')
  if (place !== undefined && url === undefined)
    throw new UsageError('--schema needs --database, because a SQLite file has no schema')
  if (file !== undefined) return { kind: 'file', file }
  if (url === undefined) return undefined
  return { kind: 'database', url, ...(place === undefined ? {} : { schema: place }) }
}

/** Returns hooks that declare the fields in `--fills`; none without the option. */
export function readHooks({ fills }: OptionValues): { readonly hooks?: AnyHooks } {
  const named = new Map<string, string[]>()
  for (const [collection = '', field = ''] of fills.map((one) => one.split('.')))
    named.set(collection, [...(named.get(collection) ?? []), field])
  const hooks = Array.from(named, ([name, fields]) => [name, { fills: fields, before() {} }] as const)
  return hooks.length > 0 ? { hooks: Object.fromEntries(hooks) } : {}
}

/** Throws `UsageError` if a value is empty or consists of spaces. `what` names the value in the message. */
export function checkText(value: string, what: string): void {
  if (value.trim() === '') throw new UsageError(`${what} must not be empty`)
}
