import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, vi } from 'vitest'
import { overBatch } from '../../src/adapters/sqlite-programs/over-batch.js'
import { overSession } from '../../src/adapters/sqlite-programs/over-session.js'
import { createProgramAdapter } from '../../src/adapters/sqlite-programs/program-adapter.js'
import type { ProgramDriver, ProgramLimits } from '../../src/adapters/sqlite-programs/program-driver.js'
import { backUpFile } from '../support/backups.js'
import { createFileBatches, createFileSession } from '../support/program-databases.js'
import { runKit } from '../support/run-kit.js'

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 0)
})

const SHORT: ProgramLimits = { parameters: 2, statementBytes: 300, depth: 30 }

/** The halves of which drivers are made, each over a file. */
const HALVES: readonly (readonly [name: string, open: (file: string) => ProgramDriver])[] = [
  ['in this thread', (file) => overSession(createFileSession(file))],
  ['that accepts only lists of statements', (file) => overBatch(createFileBatches(file))],
  // Hardly any filter fits into such a statement, so the adapter evaluates filters itself.
  ['with very short statements', (file) => overBatch({ ...createFileBatches(file), limits: SHORT })],
]

for (const [name, open] of HALVES) {
  describe(`an engine ${name}`, () => {
    runKit(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'collection-service-programs-'))
      const file = join(folder, 'data.db')
      return {
        connect: () => createProgramAdapter(open(file)),
        backUp: backUpFile(file),
        destroy: () => rm(folder, { recursive: true, force: true }),
      }
    })
  })
}
