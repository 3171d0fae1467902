import { readFile } from 'node:fs/promises'

/** A file that cannot be used; the message says which and why. */
export class FileError extends Error {}

/** Reads a file of JSON. Throws `FileError`, also where a key stands twice in one object, so that nothing is lost. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = (await readText(path)).replace(/^\ufeff/, '')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    throw new FileError(`${path} is not valid JSON: ${thrown instanceof Error ? thrown.message : ''}`)
  }
  const repeated = findRepeatedKey(text)
  if (repeated !== undefined)
    throw new FileError(`${path} has the key ${JSON.stringify(repeated)} twice in one object`)
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

/** The first key that stands twice in one object of a valid JSON text. */
export function findRepeatedKey(text: string): string | undefined {
  // The keys of each open object; null for an open array.
  const open: (Set<string> | null)[] = []
  for (const [token, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/gs)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(null)
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined) {
      const key: string = JSON.parse(token.slice(0, -colon.length))
      const keys = open.at(-1)
      if (keys?.has(key)) return key
      keys?.add(key)
    }
  }
  return undefined
}
