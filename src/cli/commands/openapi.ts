import type { OpenapiArguments } from '../arguments/arguments.js'
import { FileError } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

export async function openapi({ config }: OpenapiArguments, _: Terminal): Promise<void> {
  throw new FileError(`${config}: `)
}
