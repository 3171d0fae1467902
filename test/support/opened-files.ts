import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { Closable } from './program-databases.js'

/** A new file for each test, and the databases of the test, which are closed when it is over. */
export function useFile() {
  let folder = ''
  let opened: { close(): void }[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-file-'))
  })
  afterEach(async () => {
    for (const one of opened) one.close()
    opened = []
    await rm(folder, { recursive: true, force: true })
  })
  return {
    /** The path of the file. */
    path: (): string => join(folder, 'data.db'),
    keep<T>(database: Closable<T>): Closable<T> {
      opened.push(database)
      return database
    },
  }
}
