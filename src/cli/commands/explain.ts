import type { ExplainArguments } from '../arguments/arguments.js'
import { FileError } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

export async function explain({ config }: ExplainArguments, _: Terminal): Promise<void> {
  throw new FileError(`${config}: `)
}
