import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import type * as Drivers from '../../src/adapters/sqlite/drivers/load-driver.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { backUpFile } from '../support/backups.js'
import { runKit } from '../support/run-kit.js'

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 0)
})

// The kit also shows that the adapter gives a driver only what all libraries treat alike.
vi.mock('../../src/adapters/sqlite/drivers/load-driver.js', async (original) => {
  const { createStrictDriver } = await import('../support/strict-driver.js')
  const real = await original<typeof Drivers>()
  return { ...real, loadDriver: async () => createStrictDriver(await real.loadDriver()) }
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
