import { readFile } from 'node:fs/promises'
import { findTextFault } from '../../core/json/json-text.js'

/** The error for a file that cannot be used. Its message names the file and the reason. */
export class FileError extends Error {}

/** Reads and parses a JSON file. Throws `FileError`, as `parseJson` does. */
export async function readJsonFile(path: string): Promise<unknown> {
  return parseJson(path, (await readTextFile(path)).replace(/^\ufeff/, ''))
}

/**
 * Parses JSON text. `path` names the file, or a part of it, in errors. Throws `FileError`, also for a key that occurs
 * twice in one object, because its first value would be lost.
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
  if (fault !== undefined) throw new FileError(`${path}: ${fault}`)
  return value
}

/** Reads a text file. Throws `FileError`. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new FileError(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${code}`)
  }
}

/**
 * Returns the first error in a JSON text with its position: a syntax error or a repeated key. `undefined` if there is
 * none.
 */
export function findFault(text: string): string | undefined {
  const fault = findTextFault(text)
  if (fault?.line === undefined) return fault?.message
  return `${fault.message} at line ${fault.line}, column ${fault.column}`
}
