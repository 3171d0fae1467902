import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPool } from '../../src/adapters/postgres/connection/hosts.js'
import { openWriter } from '../../src/adapters/sqlite/connection/connection.js'
import { usePostgres } from '../support/postgres.js'

// CONTRACT.md §7, "Storage"

/** That what is acknowledged is on disk cannot be seen from outside: no test cuts the power. The settings can. */

describe('SQLite', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-settings-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('every commit waits for the disk, also on a file that is there already', async () => {
    for (let opening = 0; opening < 2; opening++) {
      const connection = await openWriter(join(folder, 'data.db'))
      expect(connection.first('PRAGMA journal_mode', [])).toBe('wal')
      expect(connection.first('PRAGMA synchronous', [])).toBe(2)
      connection.close()
    }
  })
})

describe('PostgreSQL', () => {
  const postgres = usePostgres()

  // Whether the server itself leaves anything to its system (`fsync`) is not for an adapter to say.
  test('every commit waits for its server', async () => {
    const source = await createPool(postgres.url)
    const client = await source.pool.connect()
    try {
      for (const [setting, value] of [
        ['synchronous_commit', 'on'],
        ['application_name', 'collection-service'],
      ])
        expect(await client.query({ text: `SHOW ${setting}` })).toMatchObject({
          rows: [{ [String(setting)]: value }],
        })
    } finally {
      client.release()
      await source.end()
    }
  })
})
