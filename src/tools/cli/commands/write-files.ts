import { realpathSync } from 'node:fs'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { FileError } from '../read-json-file.js'

/**
 * Writes files into a folder, which is created if it is missing. Throws `FileError`; if one of the files exists, none
 * is written. `word` is the command that the error names.
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
    // Also rejects a file that has appeared in the meantime.
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

/** Shell lines that change into a folder and install the package, each if necessary. */
export const prepare = (folder: string): readonly string[] => [
  ...(folder === '.' ? [] : [`cd ${quote(folder)}`]),
  ...(isInstalled(folder) ? [] : ['npm install collection-service']),
]

/** The path of the JSON Schema, for completion in editors, from a configuration beside the installed package. */
const SCHEMA = './node_modules/collection-service/dist/config.schema.json'

/** The path from a configuration in a folder: the package may be installed in a parent folder. */
function findSchema(folder: string): string {
  const found = resolveFrom(folder, 'collection-service/config.schema.json')
  if (found === undefined) return SCHEMA
  const path = relative(realpathSync(folder), found).replaceAll('\\', '/')
  return path.startsWith('.') ? path : `./${path}`
}

/** Whether programs in a folder can import this package. */
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
