import type { DiffArguments } from '../arguments/arguments.js'
import { FileError } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

export async function diff({ before: config }: DiffArguments, _: Terminal): Promise<number> {
  throw new FileError(`${config}: `)
}
