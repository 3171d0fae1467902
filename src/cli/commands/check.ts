import type { CheckArguments } from '../arguments/arguments.js'
import { FileError } from '../read-json-file.js'
import type { Terminal } from '../terminal.js'

export async function check({ config }: CheckArguments, _: Terminal): Promise<number> {
  throw new FileError(`${config}: `)
}
