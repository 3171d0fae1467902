import { permissionMatrix } from '../../insight/matrix/permission-matrix.js'
import { printMarkdown } from '../../insight/matrix/print-markdown.js'
import { printText } from '../../insight/matrix/print-text.js'
import { toJsonText } from '../../insight/text/json-text.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { readConfig } from '../read-config.js'
import { type Terminal, textFor } from '../terminal.js'

/** Prints all permissions of a configuration. Throws `FileError` and `ConfigError`. */
export async function matrix(
  { config, format, authenticate, production }: ArgumentsOf<'matrix'>,
  terminal: Terminal,
): Promise<void> {
  const { print } = terminal
  const permitted = permissionMatrix(await readConfig(config), { authenticate, production })
  switch (format) {
    case 'text':
      return print(printText(permitted, { isFull: true, ...textFor(terminal) }))
    case 'markdown':
      return print(printMarkdown(permitted))
    case 'json':
      return print(toJsonText(permitted, 2))
    default:
      return format satisfies never
  }
}
