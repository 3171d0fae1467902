import { expect, test } from 'vitest'
import { LostConnection } from '../../../../src/adapters/postgres/faults.js'
import { createPostgresEngine } from '../../../../src/adapters/postgres/postgres-engine.js'
import { createReads } from '../../../../src/adapters/postgres/read/reads.js'
import type { FieldRef } from '../../../../src/core/filter/filter.js'

const team: FieldRef = { path: 'team', type: 'string', each: false }

/** Reads over a database that is away, while as much is long as may be. */
const reads = createReads({
  engine: createPostgresEngine('public'),
  use: () => Promise.reject(new LostConnection(new Error('the server is away'))),
  isOpen: () => true,
  isFullOfLong: () => true,
  indexesOf: () => [{ fields: [team], unique: false }],
})

const query = { filter: { kind: 'eq', field: team, value: 'a' }, sort: [], skip: 0, limit: null } as const

const readAll = async (): Promise<void> => {
  for await (const _ of reads.stream('notes', query));
}

test.each<[what: string, read: () => unknown]>([
  ['list', () => reads.list('notes', query)],
  ['count', () => reads.count('notes', query.filter, {})],
  ['stream', readAll],
])(
  'a %s of a database that is away says so, also where it is asked first whether it is long',
  async (_, read) => {
    await expect(read()).rejects.toMatchObject({ code: 'storage_unavailable' })
  },
)
