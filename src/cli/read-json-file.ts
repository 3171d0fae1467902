import { readFile } from 'node:fs/promises'
import { type JSONVisitor, printParseErrorCode, visit } from 'jsonc-parser'

/** A file that cannot be used; the message says which and why. */
export class FileError extends Error {}

/**
 * Reads a file of JSON. Throws `FileError`, also for a key that occurs twice in one object, because its first
 * value would be lost.
 */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = (await readText(path)).replace(/^\ufeff/, '')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    const reason = findFault(text) ?? (thrown instanceof Error ? thrown.message : '')
    throw new FileError(`${path} is not valid JSON: ${reason}`)
  }
  const fault = findFault(text)
  if (fault !== undefined) throw new FileError(`${path} has ${fault}`)
  return value
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new FileError(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${code}`)
  }
}

/** The first fault of a JSON text, with its place: in its syntax, or a repeated key. */
export function findFault(text: string): string | undefined {
  const objects: Set<string>[] = []
  let fault: string | undefined
  const note = (message: string, line: number, column: number): void => {
    fault ??= `${message} at line ${line + 1}, column ${column + 1}`
  }
  const visitor: JSONVisitor = {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty(name, ...[, , line, column]) {
      const names = objects.at(-1)
      if (names?.has(name)) note(`the key ${JSON.stringify(name)} twice in one object`, line, column)
      names?.add(name)
    },
    onError: (code, ...[, , line, column]) => note(wordsOf(printParseErrorCode(code)), line, column),
  }
  try {
    visit(text, visitor, { disallowComments: true })
  } catch {
    // The parser recurses as deep as the text.
    return 'more levels than can be read'
  }
  return fault
}

/** `CommaExpected` as `comma expected`. */
const wordsOf = (code: string): string => code.replaceAll(/(?<=.)[A-Z]/g, ' $&').toLowerCase()
