import { fork } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { isModule } from './config-name.js'
import { readConfig, requireConfig } from './read-config.js'
import { FileError } from './read-json-file.js'
import { describeState, NO_FILE } from './record-files.js'

/** The states of files by name. A state differs after its file was written, replaced or removed. */
export type FileStates = ReadonlyMap<string, string>

/** Reads the current states of files. */
export async function readStates(files: readonly string[]): Promise<FileStates> {
  const states = await Promise.all(
    files.map((file) =>
      stat(file, { bigint: true }).then(
        (found) => [file, describeState(found)] as const,
        () => [file, NO_FILE] as const,
      ),
    ),
  )
  return new Map(states)
}

/** The message of the process that loads a module: the configuration, or the message of an error. */
export interface LoadedConfig {
  readonly config?: unknown
  readonly fault?: string
  /** The loaded files, each with its state before it was read. */
  readonly files: FileStates
}

/** A configuration that is read repeatedly. */
export interface WatchedConfig {
  /** Reads the current configuration. Throws `FileError`. */
  read(): Promise<unknown>
  /** Returns the files to watch in addition to the configuration. */
  imports(): readonly string[]
  /** Returns the files that the last reading loaded, with their states before they were read. */
  loaded(): FileStates
  /** Ends a running reading, which then rejects. */
  stop(): void
}

/**
 * Creates the reader of a configuration for a service that restarts. A process never loads a module twice, so each
 * reading of a module has a process of its own.
 */
export function watchConfig(path: string): WatchedConfig {
  if (!isModule(path))
    return { read: () => readConfig(path), imports: () => [], loaded: () => new Map(), stop() {} }
  const ending = new AbortController()
  let imports: readonly string[] = []
  let loaded: FileStates = new Map()
  return {
    async read() {
      await requireConfig(path)
      const { config, fault, files } = await readApart(path, ending.signal)
      // After an error, the files of the last version are watched too: the new version may not have reached them.
      imports = [...(fault === undefined ? [] : imports), ...files.keys()]
      loaded = files
      if (fault !== undefined) throw new FileError(fault)
      return config
    },
    imports: () => imports,
    loaded: () => loaded,
    stop: () => ending.abort(),
  }
}

const PROGRAM = fileURLToPath(new URL('./load-config.js', import.meta.url))

/** Reads a module in a new process. The text that the module prints is printed. */
async function readApart(path: string, signal: AbortSignal): Promise<LoadedConfig> {
  const child = fork(PROGRAM, [path], { serialization: 'advanced', signal })
  let loaded: LoadedConfig | undefined
  child.on('message', (message) => {
    loaded = message as LoadedConfig
  })
  const [code] = await once(child, 'close')
  return (
    loaded ?? { fault: `${path} ended the process that loads it, with the code ${code}`, files: new Map() }
  )
}
