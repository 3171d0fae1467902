import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { backUpFile } from '../support/backups.js'
import { runKit } from '../support/run-kit.js'

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 0)
})

runKit(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-sqlite-'))
  const file = join(folder, 'data.db')
  return {
    connect: () => createSqliteAdapter({ file }),
    backUp: backUpFile(file),
    destroy: () => rm(folder, { recursive: true, force: true }),
  }
})
