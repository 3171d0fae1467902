import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openReader, openWriter } from '../../src/adapters/sqlite/connection/connection.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { ConfigError } from '../../src/index.js'

// CONTRACT.md §7, "Storage"

test('each connection keeps as many MiB of pages as it is given', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-cache-'))
  const file = join(folder, 'data.db')
  const writer = await openWriter(file, { cache: 3 })
  const reader = await openReader(file, { cache: 5 })
  try {
    expect([writer, reader].map((one) => one.first('PRAGMA cache_size', []))).toEqual([-3 * 1024, -5 * 1024])
  } finally {
    reader.close()
    writer.close()
    await rm(folder, { recursive: true, force: true })
  }
})

test.each([0, 1.5, -1, 2 ** 21, '64', null])('a cache of %j is refused', (cache) => {
  expect(() => createSqliteAdapter({ file: ':memory:', cache: cache as never })).toThrow(ConfigError)
})

test.each([1, 2 ** 20, undefined])('an adapter with a cache of %j opens', async (cache) => {
  const adapter = createSqliteAdapter({ file: ':memory:', ...(cache === undefined ? {} : { cache }) })
  await adapter.open([])
  await adapter.close()
})
