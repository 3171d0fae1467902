import { realpathSync } from 'node:fs'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { FileError } from '../read-json-file.js'

/**
 * Writes files into a folder, and creates the folder if it does not exist. Throws `FileError`. If one of the files
 * already exists, it writes none. `word` is the command that the error message names.
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
    // With the flag `wx`, the write also fails if the file was created after the check above.
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
  const verb = found.length === 1 ? 'exists' : 'exist'
  throw new FileError(
    `${found.join(', ')} already ${verb}: ${word} does not overwrite files, and has written none`,
  )
}

const refuse =
  (path: string) =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new FileError(`${path} cannot be written: ${code}`)
  }

/**
 * Returns shell commands that change into a folder and install the package. A command that is not necessary is left
 * out.
 */
export const prepare = (folder: string): readonly string[] => [
  ...(folder === '.' ? [] : [`cd ${quote(folder)}`]),
  ...(isInstalled(folder) ? [] : ['npm install collection-service']),
]

/**
 * The path to the JSON Schema in the templates, which gives completion in editors. It is correct if the package is
 * installed in the folder of the configuration.
 */
const SCHEMA = './node_modules/collection-service/dist/config.schema.json'

/**
 * Returns the path to the JSON Schema from a configuration in a folder. The package may be installed in a parent
 * folder.
 */
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

/** Returns a name as one word of a shell command, in quotes if necessary. */
const quote = (name: string): string =>
  /^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
