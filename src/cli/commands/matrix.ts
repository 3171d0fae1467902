import type { MatrixArguments } from '../arguments/arguments.js'
import { FileError } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

export async function matrix({ config }: MatrixArguments, _: Terminal): Promise<void> {
  throw new FileError(`${config}: `)
}
