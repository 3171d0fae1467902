import { ConfigError } from '../../core/errors.js'
import { explain } from './explain.js'
import { readModule } from './read-config.js'
import { recordFiles } from './record-files.js'
import type { LoadedConfig } from './watched-config.js'

// The program of a process that loads a module and sends its default export to the process that started it.

/** Loads a module. Returns its default export, or the message of the error. */
async function load(path: string): Promise<Omit<LoadedConfig, 'files'>> {
  try {
    const { copied, faults } = await readModule(path)
    return faults.length === 0 ? { config: copied } : { fault: new ConfigError(faults).message }
  } catch (thrown) {
    return { fault: explain(thrown) }
  }
}

// A process that has nobody left to send to ends, also if the module never does.
process.once('disconnect', () => process.exit())
// The channel alone does not keep the process alive, so that a promise which never resolves is noticed.
process.channel?.unref()
const [, , path = ''] = process.argv
const listFiles = recordFiles()
const loaded: LoadedConfig = { ...(await load(path)), files: listFiles() }
// The process ends although the module may still do something, such as listen on a port.
process.send?.(loaded, undefined, undefined, () => process.exit())
