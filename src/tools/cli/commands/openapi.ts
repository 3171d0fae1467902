import type { Config } from '../../../core/types.js'
import { toJsonText } from '../../insight/text/json-text.js'
import { describeApi } from '../../openapi/describe-api.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { readCaller } from '../read-caller.js'
import { readConfig } from '../read-config.js'
import type { Terminal } from '../terminal.js'

/** Prints the OpenAPI document of a configuration. Throws `FileError`, `ConfigError` and `UsageError`. */
export async function openapi(
  { config, caller, authenticate, production, hooks }: ArgumentsOf<'openapi'>,
  { print }: Terminal,
): Promise<void> {
  const document = describeApi((await readConfig(config)) as Config, {
    authenticate,
    production,
    ...(hooks ? { hooks } : {}),
    ...(caller === undefined ? {} : { caller: await readCaller(caller) }),
  })
  print(toJsonText(document, 2))
}
