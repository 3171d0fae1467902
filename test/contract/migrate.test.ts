import { describe, expect, test } from 'vitest'
import { ConfigError, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { migrateCollections } from '../../src/tools/migrate/index.js'
import { DROP_UNIQUE_LAWS } from '../support/drop-unique-laws.js'
import { ERASE_LAWS } from '../support/erase-laws.js'
import { MIGRATE_LAWS } from '../support/migrate-laws.js'
import { PROCESS_LAWS } from '../support/process-laws.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'

// CONTRACT.md §1, "Fill", "Migrations", "Erase", §7, "Migrating", "Earlier processes", "Dropping a unique index"

const opened = closeAfterEach()

describe.each(useLastingStorages())('over %s, a run', (_, create) => {
  test.each([...MIGRATE_LAWS, ...PROCESS_LAWS, ...ERASE_LAWS, ...DROP_UNIQUE_LAWS])(
    '%s',
    async (_what, check) => {
      await check({ connect: create(), migrate: migrateCollections, opened })
    },
  )
})

test('a second run writes nothing', async () => {
  const adapter = createMemoryAdapter({ documents: {} })
  const config = {
    collections: { notes: { schema: { a: { type: 'string', required: true, fill: 'x' } } } },
  }
  let writes = 0
  const counted: StorageAdapter = {
    ...adapter,
    write: (steps, options) => {
      writes += 1
      return adapter.write(steps, options)
    },
  }
  await migrateCollections(config, counted)
  writes = 0
  expect(await migrateCollections(config, counted)).toEqual({ steps: [] })
  expect(writes).toBe(0)
})

test.each([
  ['an unknown option, with the nearest known one', { dryrun: true }, 'dryrun', '"dryRun"'],
  ['a value of another type', { onProgress: true }, 'onProgress', 'a function'],
  ['a signal that cannot abort', { signal: {} }, 'signal', 'an AbortSignal'],
] as const)('rejects %s, before it opens the adapter', async (_, options, path, expected) => {
  const adapter = createMemoryAdapter()
  let opened = 0
  const counted: StorageAdapter = {
    ...adapter,
    async open() {
      opened += 1
    },
  }
  const run = migrateCollections({ collections: {} }, counted, options as object)
  const error = await run.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as ConfigError).faults).toEqual([{ path, message: expect.stringContaining(expected) }])
  expect(opened).toBe(0)
})
