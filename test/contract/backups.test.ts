import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { backUp } from '../../src/adapters/sqlite/backup/back-up.js'
import { restore } from '../../src/adapters/sqlite/backup/restore.js'
import { Connection } from '../../src/adapters/sqlite/connection/connection.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { Consumer } from '../../src/index.js'
import { codeOf, createPlace, laws, unwatched } from '../support/backup-laws.js'
import { until } from '../support/until.js'
import { ADMIN, useStreams } from './support/changes.js'

// CONTRACT.md §7, "Backups"

afterEach(() => {
  vi.restoreAllMocks()
})

const serve = useStreams()

describe('after a restore', () => {
  test('streams get a reset, and consumers continue from their places in the backup', async () => {
    const { file, adapter: first, out } = await createPlace([])
    await first.close()
    const told: string[] = []
    const warnings: unknown[][] = []
    const logger = { ...console, warn: (...entry: unknown[]) => void warnings.push(entry) }
    const handle: Consumer['handle'] = async ({ after }) => void told.push(String(after?.text))
    const consumers = { told: { collections: ['notes' as const], handle } }
    const options = { consumers, logger }
    const open = () => serve({ adapter: createSqliteAdapter({ file }), options })

    const early = await open()
    const stream = await early.open('/notes/changes', { caller: ADMIN })
    await early.write('POST /notes', { text: 'kept' })
    const [, kept] = await stream.until(2)
    await until(() => told.length === 1)
    await stream.close()
    await early.handler.close()
    await backUp(file, out, unwatched)

    const later = await open()
    await later.write('POST /notes', { text: 'undone' })
    await until(() => told.length === 2)
    await later.handler.close()
    await restore(out, file, { ...unwatched, replaces: true })

    const restored = await open()
    await restored.write('POST /notes', { text: 'new' })
    await until(() => told.length >= 3)
    const headers = { 'last-event-id': kept?.id ?? '' }
    const resumed = await restored.open('/notes/changes', { caller: ADMIN, headers })
    expect(resumed.events.map(({ event }) => event)).toEqual(['reset'])
    await resumed.close()
    await restored.handler.close()
    expect(told).toEqual(['kept', 'undone', 'new'])
    expect(warnings.filter((entry) => /consumer/.test(String(entry)))).toEqual([])
  })
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
