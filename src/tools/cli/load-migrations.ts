import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../core/json/own-properties.js'
import type { Migrations } from '../../core/types.js'
import { importModule } from './import-module.js'
import { FileError } from './read-json-file.js'

const EXTENSION = '.mjs'

/**
 * Loads the code of the migrations that a configuration lists and a folder contains: `<name>.mjs`, whose default export is
 * the migration. Returns none without a folder. Throws `FileError`, also for a module that the list lacks.
 */
export async function loadMigrations(config: unknown, folder: string | undefined): Promise<Migrations> {
  if (folder === undefined) return {}
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new FileError(`the folder ${folder} of --migrations cannot be read`, { cause })
  })
  const listed = isObject(config) && Array.isArray(config.migrations) ? config.migrations.map(String) : []
  const modules = names
    .filter((name) => name.endsWith(EXTENSION))
    .map((name) => name.slice(0, -EXTENSION.length))
  const code: { [name: string]: unknown } = {}
  for (const name of modules.sort()) {
    const place = join(folder, name + EXTENSION)
    // The code of a finished migration may stay in the folder, but a module that the list lacks would never run.
    if (!listed.includes(name))
      throw new FileError(`${place} is a migration that "migrations" of the configuration lacks`)
    const { default: migration } = await importModule({
      place,
      failure: `${place} cannot be used for --migrations`,
    })
    if (!isObject(migration)) throw new FileError(`${place} has no default export { collections }`)
    code[name] = migration
  }
  return code as Migrations
}
