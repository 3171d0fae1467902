import { realpathSync } from 'node:fs'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { FileError } from '../read-json-file.js'

/**
 * Writes files into a folder, which is created where it is missing. Throws `FileError`; where one of them exists,
 * nothing is written. `word`: who says so.
 */
export async function writeFiles(
  folder: string,
  files: { readonly [name: string]: string },
  word: string,
): Promise<void> {
  await refuseOverwriting(folder, Object.keys(files), word)
  await mkdir(folder, { recursive: true }).catch(refuse(folder))
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, file)
    // Also refuses a file that has appeared in the meantime.
    await writeFile(path, text.replace(SCHEMA, findSchema(folder)), { flag: 'wx' }).catch(refuse(path))
  }
}

async function refuseOverwriting(folder: string, names: readonly string[], word: string): Promise<void> {
  const found: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    await access(path).then(
      () => found.push(path),
      () => {},
    )
  }
  if (found.length === 0) return
  const verb = found.length === 1 ? 'is' : 'are'
  throw new FileError(
    `${found.join(', ')} ${verb} there already; ${word} overwrites nothing, and has written nothing`,
  )
}

const refuse =
  (path: string) =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new FileError(`${path} cannot be written: ${code}`)
  }

/** The lines of a shell after which what was written into a folder can be served. */
export const prepare = (folder: string): readonly string[] => [
  ...(folder === '.' ? [] : [`cd ${quote(folder)}`]),
  ...(isInstalled(folder) ? [] : ['npm install collection-service']),
]

/** Where a configuration beside the installed package finds the JSON Schema, which editors complete by. */
const SCHEMA = './node_modules/collection-service/dist/config.schema.json'

/** Where one in a folder finds it: what programs there find may be installed further up. */
function findSchema(folder: string): string {
  const found = resolveFrom(folder, 'collection-service/config.schema.json')
  if (found === undefined) return SCHEMA
  const path = relative(realpathSync(folder), found).replaceAll('\\', '/')
  return path.startsWith('.') ? path : `./${path}`
}

/** Whether programs in a folder find this package. */
const isInstalled = (folder: string): boolean => resolveFrom(folder, 'collection-service') !== undefined

function resolveFrom(folder: string, name: string): string | undefined {
  try {
    return createRequire(join(resolve(folder), 'config.json')).resolve(name)
  } catch {
    return undefined
  }
}

/** A name, quoted as one word of a shell. */
const quote = (name: string): string =>
  /^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
