import { readFile } from 'node:fs/promises'
import { findTextFault } from '../../core/json/json-text.js'

/** A file that cannot be used; the message says which and why. */
export class FileError extends Error {}

/** Reads a file of JSON. Throws `FileError`, as `parseJson` does. */
export async function readJsonFile(path: string): Promise<unknown> {
  return parseJson(path, (await readTextFile(path)).replace(/^\ufeff/, ''))
}

/**
 * Parses the text of a file, or of a part of it that `path` names. Throws `FileError`, also for a key that occurs twice
 * in one object, because its first value would be lost.
 */
export function parseJson(path: string, text: string): unknown {
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

/** Reads a file of text. Throws `FileError`. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new FileError(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${code}`)
  }
}

/** The first error of a JSON text, with its place: of syntax, or a repeated key. */
export function findFault(text: string): string | undefined {
  const fault = findTextFault(text)
  if (fault?.line === undefined) return fault?.message
  return `${fault.message} at line ${fault.line}, column ${fault.column}`
}
