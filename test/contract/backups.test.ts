import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { backUp } from '../../src/adapters/sqlite/backup/back-up.js'
import { restore } from '../../src/adapters/sqlite/backup/restore.js'
import { Connection } from '../../src/adapters/sqlite/connection/connection.js'
import { codeOf, createPlace, laws, unwatched } from '../support/backup-laws.js'

// CONTRACT.md §7, "Backups"

afterEach(() => {
  vi.restoreAllMocks()
})

describe('backups of SQLite files', () => {
  test.each(laws)('%s', (_, check) => check({ backUp, restore }), 60_000)

  test('a full disk is an error, and leaves nothing', async () => {
    const { file, adapter, out } = await createPlace()
    const { copyTo } = Connection.prototype
    vi.spyOn(Connection.prototype, 'copyTo').mockImplementation(async function (this: Connection, ...args) {
      await copyTo.apply(this, args)
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
    })
    expect(await codeOf(backUp(file, out, unwatched))).toBe('no_space')
    await adapter.close()
    expect(await readdir(dirname(out))).toEqual(['app.db'])
  })
})
