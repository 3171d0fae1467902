import { execFile } from 'node:child_process'
import cluster from 'node:cluster'
import { access } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { FileError } from './read-json-file.js'

/** The values that a module exports, by name. */
export interface Exports {
  readonly [name: string]: unknown
}

/** A module that is loaded, and the beginning of the message if it cannot be. */
interface Loading {
  /** The name of the file, relative to the working directory. */
  readonly place: string
  /** Default: the file cannot be loaded. */
  readonly failure?: string
}

/** Loads a module with everything that it imports. Throws `FileError` with the reason and, if it is known, the line. */
export async function importModule(loading: Loading): Promise<Exports> {
  await access(loading.place).catch(() => {
    throw new FileError(`there is no file ${loading.place}`)
  })
  return waitFor(import(urlOf(loading.place)) as Promise<Exports>, loading)
}

/** Waits for a promise of a module. Throws `FileError` if the promise rejects, or if nothing is left to resolve it. */
export async function waitFor<T>(promise: Promise<T>, { place, failure }: Loading): Promise<T> {
  try {
    return await settleOrEnd(promise)
  } catch (thrown) {
    const reason = await describeThrown(place, thrown)
    throw new FileError(`${failure ?? `${place} cannot be loaded`}: ${reason}`, { cause: thrown })
  }
}

const urlOf = (place: string): string => pathToFileURL(resolve(place)).href

/**
 * Resolves with the result of a promise. Rejects if the event loop becomes empty before that, because the process
 * would then end without a message.
 */
async function settleOrEnd<T>(promise: Promise<T>): Promise<T> {
  let give: () => void = () => {}
  const empty = new Promise<never>((_, reject) => {
    give = () => reject(new Error('its top-level await never resolves'))
  })
  process.once('beforeExit', give)
  // In a worker, the channel to the first process would keep the event loop from becoming empty.
  const channel = cluster.isWorker ? process.channel : undefined
  channel?.unref()
  try {
    return await Promise.race([promise, empty])
  } finally {
    channel?.ref()
    process.off('beforeExit', give)
  }
}

/** Describes what a module threw while it was loaded. */
async function describeThrown(place: string, thrown: unknown): Promise<string> {
  if (!(thrown instanceof Error)) return String(thrown)
  const { code } = thrown as NodeJS.ErrnoException
  const [said = ''] = thrown.message.split('\nRequire stack:')
  const message = said.replaceAll(/\s*\n\s*/g, ' ')
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[mc]?ts\b/.test(message)) return describeTypes(place)
  const isSyntax = thrown instanceof SyntaxError
  const found = findLine(thrown.stack ?? '') ?? (isSyntax ? await findSyntaxLine(place) : undefined)
  const reason = thrown.name === 'Error' ? message : `${thrown.name}: ${message}`
  return `${reason}${found === undefined ? '' : ` (${found})`}${adviseOn(place, message)}`
}

/** The text for a runtime that does not run TypeScript. It names the two remedies. */
const describeTypes = (place: string): string =>
  `Node ${process.versions.node} does not run TypeScript. Use Node 22.18, 23.6 or later, or ${useTsx(place)}`

const useTsx = (place: string): string =>
  `run the command with tsx: npx tsx node_modules/collection-service/dist/cli.js ${place}`

/** Returns the advice for a common error, or an empty string. */
function adviseOn(place: string, message: string): string {
  if (/Unexpected token 'export'|Cannot use import statement/.test(message))
    return '. The nearest package.json says that this file is CommonJS: let the name end in .mjs or .mts, or set "type": "module"'
  if (message.endsWith('is not supported in strip-only mode'))
    return `. Node only removes types: use other syntax, or ${useTsx(place)}`
  return ''
}

/** The folder of the command, whose own lines are not those of the module. */
const OWN = import.meta.dirname

/**
 * Returns the first line of a stack that belongs to the program of the user, not to Node or to a package; `undefined`
 * if there is none. The first lines of the stack of a syntax error name its file and line.
 */
function findLine(stack: string): string | undefined {
  const lines = stack.split('\n').flatMap((line) => {
    const [, file, position] =
      /^(?:\s+at (?:async )?(?:.*\()?)?((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]*?):(\d+(?::\d+)?)\)?$/.exec(
        line,
      ) ?? []
    return file === undefined || position === undefined ? [] : [{ path: toPath(file), position }]
  })
  const found = lines.find(({ path }) => !path.startsWith(OWN) && !/[\\/]node_modules[\\/]/.test(path))
  return found && `${shorten(found.path)}:${found.position}`
}

const toPath = (file: string): string => (file.startsWith('file:') ? fileURLToPath(file) : file)

/** Returns a path relative to the working directory if it lies in it. */
function shorten(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}

/** The longest wait for the process that finds the line of a syntax error, in milliseconds. */
const PATIENCE = 10_000

/**
 * Returns the file and line of a syntax error. Node prints them for an error that ends a process, but does not add
 * them to an error that is caught. Therefore another process loads the module.
 */
const findSyntaxLine = (place: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const program = ['--input-type=module', '--eval', 'await import(process.argv[1])', urlOf(place)]
    execFile(process.execPath, [...process.execArgv, ...program], { timeout: PATIENCE }, (_, __, stderr) =>
      resolve(findLine(stderr)),
    )
  })
