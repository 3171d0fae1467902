import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** Gives the tests of a file a folder for what is temporary, also to processes that they start: nothing of it is left. */
export function useTemporaryFolder(): void {
  const { TMPDIR } = process.env
  const folder = mkdtempSync(join(tmpdir(), 'collection-service-test-'))
  // A server of PostgreSQL runs as another user where this one is root.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  // What is registered first is done last.
  afterAll(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  })
}
