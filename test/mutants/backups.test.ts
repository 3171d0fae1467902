import { copyFileSync, renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import { backUp } from '../../src/adapters/sqlite/backup/back-up.js'
import type * as Copies from '../../src/adapters/sqlite/backup/checked-copy.js'
import type * as Places from '../../src/adapters/sqlite/backup/place-file.js'
import { restore } from '../../src/adapters/sqlite/backup/restore.js'
import type * as Connections from '../../src/adapters/sqlite/connection/connection.js'
import type * as Dialects from '../../src/adapters/sqlite/sqlite-dialect.js'
import { checkBackups } from '../support/backup-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Backups and restores, broken on purpose. */

const broken = <Module extends object>(
  what: string,
  module: string,
  change: (real: Module) => Partial<Module>,
): Mutant => [
  what,
  module,
  async (original) => {
    const real = (await original()) as Module
    return { ...real, ...change(real) }
  },
]

const CONNECTION = '../../src/adapters/sqlite/connection/connection.js'
const COPY = '../../src/adapters/sqlite/backup/checked-copy.js'
const PLACE = '../../src/adapters/sqlite/backup/place-file.js'
const DIALECT = '../../src/adapters/sqlite/sqlite-dialect.js'

const mutants: readonly Mutant[] = [
  broken<typeof Connections>('the copy is not checked', CONNECTION, ({ Connection }) => {
    const { all } = Connection.prototype
    Connection.prototype.all = function (text, values) {
      return text.includes('integrity_check') ? ['ok'] : all.call(this, text, values)
    }
    return {}
  }),
  broken<typeof Connections>('the file is copied without its log', CONNECTION, ({ Connection }) => {
    Connection.prototype.copyTo = async function (file, onStep) {
      onStep(0, 1)
      copyFileSync(this.file, file)
    }
    return {}
  }),
  broken<typeof Connections>('the moment is not kept', CONNECTION, ({ Connection }) => {
    const { execute } = Connection.prototype
    Connection.prototype.execute = function (text) {
      if (text !== 'BEGIN' && text !== 'ROLLBACK') execute.call(this, text)
    }
    return {}
  }),
  broken<typeof Connections>('a file that is open is replaced', CONNECTION, ({ openWriter }) => ({
    openAlone: openWriter,
  })),
  broken<typeof Copies>('files that SQLite would join are overlooked', COPY, () => ({
    requireUnused: async () => {},
  })),
  broken<typeof Places>('a new file is overwritten', PLACE, () => ({
    placeFile: async (copy, file) => renameSync(copy, file),
  })),
  broken<typeof Places>('the earlier file is lost', PLACE, () => ({
    replaceFile: async (copy, file) => renameSync(copy, file),
  })),
  broken<typeof Places>('everyone can read a backup', PLACE, ({ placeFile }) => ({
    placeFile: (copy, file) => placeFile(copy, file, 0o644),
  })),
  broken<typeof Dialects>('the log keeps its name', DIALECT, ({ sqliteDialect }) => ({
    sqliteDialect: { ...sqliteDialect, newLog: 'UPDATE "_log_head" SET log = log' },
  })),
  broken<typeof Dialects>('consumers lose their places', DIALECT, ({ sqliteDialect }) => ({
    sqliteDialect: { ...sqliteDialect, table: () => '(SELECT 1)' },
  })),
]

test('the library itself passes', () => checkBackups({ backUp, restore }), 300_000)

test.each(choose(mutants).map((one) => [one[0], one] as const))(
  '%s: caught',
  async (_, mutant) => {
    const backups = await loadMutant(mutant, async () => ({
      ...(await import('../../src/adapters/sqlite/backup/back-up.js')),
      ...(await import('../../src/adapters/sqlite/backup/restore.js')),
    }))
    expect(await fails(checkBackups(backups))).toBe(true)
  },
  300_000,
)
