import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '../../../core/errors.js'
import type { DriverName } from './driver.js'

/** The files that this process has open, by path, with the library and the number of its connections. */
const claimed = new Map<string, { readonly driver: DriverName; connections: number }>()

/**
 * Records that a connection opens a file, and returns a function that records that it is closed. Throws `ConfigError` if
 * another library has the file open in this process: when one of them closes the file, the locks of the other are lost
 * (POSIX), and with them acknowledged writes.
 */
export function claimFile(file: string, driver: DriverName): () => void {
  const path = locate(file)
  const claim = claimed.get(path) ?? { driver, connections: 0 }
  if (claim.driver !== driver)
    throw new ConfigError([
      {
        path: 'driver',
        message: `${file} is open in this process with ${claim.driver}; use the same library, or another process`,
      },
    ])
  claim.connections += 1
  claimed.set(path, claim)
  let isOpen = true
  return () => {
    if (isOpen) claim.connections -= 1
    isOpen = false
    if (claim.connections === 0) claimed.delete(path)
  }
}

function locate(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return resolve(file)
  }
}
