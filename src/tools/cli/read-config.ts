import { access } from 'node:fs/promises'
import { extname } from 'node:path'
import { copyConfig } from '../../core/config/shape/check-shape.js'
import type { ConfigFault } from '../../core/errors.js'
import { isObject } from '../../core/json/own-properties.js'
import { reportTo } from '../../core/json/report.js'
import { ENDINGS, isConfigName, isModule } from './config-name.js'
import { type Exports, importModule, waitFor } from './import-module.js'
import { FileError, readJsonFile } from './read-json-file.js'

/**
 * Reads a configuration: a JSON file, or the default export of a module. Returns plain JSON, or the export itself if it
 * is not plain JSON, so that all its faults are reported together. Throws `FileError`.
 */
export async function readConfig(path: string): Promise<unknown> {
  await requireConfig(path)
  if (!isModule(path)) return readJsonFile(path)
  const { value, copied, faults } = await readModule(path)
  return faults.length === 0 ? copied : value
}

/** The default export of a module. */
interface ReadModule {
  readonly value: object
  /** The value as plain JSON, if there are no faults. */
  readonly copied: unknown
  /** The parts of the value that JSON cannot represent. */
  readonly faults: readonly ConfigFault[]
}

/** Reads the default export of a module. Throws `FileError`. */
export async function readModule(path: string): Promise<ReadModule> {
  const value = await readDefault(path)
  const faults: ConfigFault[] = []
  return { value, copied: copyConfig(value, reportTo(faults)), faults }
}

/** Throws `FileError` if a configuration does not exist. The message names one that differs only in its ending. */
export async function requireConfig(path: string): Promise<void> {
  if (await exists(path)) return
  const stem = isConfigName(path) ? path.slice(0, -extname(path).length) : path
  for (const other of ENDINGS.map((ending) => stem + ending))
    if (await exists(other))
      throw new FileError(`there is no file ${path}; found ${other}: name it in the command`)
  throw new FileError(`there is no file ${path}`)
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const FORM = 'export default defineConfig({ … })'

/** Returns the default export of a module, or the value of the promise that it is. Throws `FileError`. */
async function readDefault(place: string): Promise<object> {
  const exports = await importModule({ place })
  const { default: given = refuseNames(place, exports) } = exports
  const value = await waitFor(Promise.resolve(ofScript(given)), { place })
  if (typeof value === 'object' && value !== null) return value
  const found = value === null ? 'null' : `a ${typeof value}`
  throw new FileError(
    `the default export of ${place} is ${found}; it must be the configuration itself: ${FORM}`,
  )
}

/** Returns the default export of a CommonJS module that was compiled from ECMAScript, else the value itself. */
const ofScript = (given: unknown): unknown =>
  isObject(given) && given.__esModule === true && Object.hasOwn(given, 'default') ? given.default : given

/** The exports that Node itself adds to those of a CommonJS module. */
const ADDED: readonly string[] = ['default', 'module.exports', '__esModule']

function refuseNames(place: string, exports: Exports): never {
  const names = Object.keys(exports).filter((name) => !ADDED.includes(name))
  const found = names.length === 0 ? 'nothing' : names.join(', ')
  throw new FileError(`${place} has no default export; it exports ${found}. Write ${FORM}`)
}
