import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()

const removeFolder = (folder: string): void => {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true })
}

const removeAll = (): void => {
  for (const folder of folders) removeFolder(folder)
}

/**
 * Creates a database file that is deleted when the process ends, or by `remove`. It is used instead of an in-memory
 * database, which several connections cannot share.
 */
export function createTemporaryFile() {
  const folder = mkdtempSync(join(tmpdir(), 'collection-service-'))
  if (folders.size === 0) process.once('exit', removeAll)
  folders.add(folder)
  return {
    file: join(folder, 'data.db'),
    remove(): void {
      removeFolder(folder)
      if (folders.size === 0) process.off('exit', removeAll)
    },
  }
}
