import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, vi } from 'vitest'
import { createD1Adapter } from '../../src/adapters/sqlite/programs/d1.js'
import { createD1Driver } from '../../src/adapters/sqlite/programs/d1-driver.js'
import { createDurableObjectAdapter } from '../../src/adapters/sqlite/programs/durable-object.js'
import { createProgramAdapter } from '../../src/adapters/sqlite/programs/program-adapter.js'
import type { ProgramLimits } from '../../src/adapters/sqlite/programs/program-driver.js'
import type { StorageAdapter } from '../../src/index.js'
import { backUpFile } from '../support/backups.js'
import { createD1Database, createObjectStorage } from '../support/program-databases.js'
import { closing } from '../support/program-storages.js'
import { runKit } from '../support/run-kit.js'

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 0)
})

/** Creates a function that creates adapters for a file. Only one adapter at a time uses a Durable Object. */
type Connect = (file: string) => () => StorageAdapter

const connectD1 =
  (create: typeof createD1Adapter): Connect =>
  (file) =>
  () =>
    closing(createD1Database(file), create)

/** Hardly any filter fits into such a statement, so the adapter evaluates nearly all filters itself. */
const SHORT: ProgramLimits = { parameters: 2, statementBytes: 300, depth: 30, documentBytes: 950_000 }

const ENGINES: readonly (readonly [name: string, connect: Connect])[] = [
  [
    'a Durable Object',
    (file) => {
      const adapter = closing(createObjectStorage(file), createDurableObjectAdapter)
      return () => adapter
    },
  ],
  ['D1', connectD1(createD1Adapter)],
  [
    'D1 with very short statements',
    connectD1((database) => createProgramAdapter({ ...createD1Driver(database), limits: SHORT })),
  ],
]

for (const [name, connect] of ENGINES) {
  describe(name, () => {
    runKit(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'collection-service-programs-'))
      const file = join(folder, 'data.db')
      return {
        connect: connect(file),
        backUp: backUpFile(file),
        destroy: () => rm(folder, { recursive: true, force: true }),
      }
    })
  })
}
