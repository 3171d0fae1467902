import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { Consumer, StorageAdapter } from '../../src/index.js'
import type { StorageArguments } from '../../src/tools/cli/arguments/commands.js'
import { grant } from '../../src/tools/cli/commands/grant.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "The command"; §9, "The log"

const config = {
  collections: {
    notes: { changes: true, schema: { text: { type: 'string' } }, permissions: { admin: true } },
    users: {
      changes: true,
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['admin'] },
      },
      permissions: { admin: { read: true } },
    },
  },
  auth: { roleField: 'role' },
} as const

const opened = closeAfterEach()
const postgres = usePostgres()
let folder = ''
let serial = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-grant-'))
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Place {
  readonly storage: StorageArguments
  /** Gives another adapter over it; `isComplete`: it creates nothing. */
  connect(isComplete: boolean): StorageAdapter
}

const places: readonly (readonly [name: string, create: () => Place])[] = [
  [
    'SQLite',
    () => {
      const file = join(folder, `${serial++}.db`)
      return { storage: { kind: 'file', file }, connect: () => createSqliteAdapter({ file }) }
    },
  ],
  [
    'PostgreSQL',
    () => {
      const [connectionString, schema] = [postgres.url, newSchema()]
      return {
        storage: { kind: 'database', url: connectionString, schema },
        connect: (isComplete) => createPostgresAdapter({ connectionString, schema, migrate: !isComplete }),
      }
    },
  ],
]

describe.each(places)('in %s, a role that is granted', (_, create) => {
  test('is a change like others: who listens is told, once, and what was told before is not told again', async () => {
    const { storage, connect } = create()
    const told: (readonly [operation: string, what: unknown])[] = []
    const handle: Consumer['handle'] = ({ operation, after }) =>
      void told.push([operation, after?.text ?? after?.role])
    const consumers = { audit: { collections: ['users', 'notes'], handle } }
    const open = async (isComplete: boolean) => {
      const service = createTestService(config, { adapter: connect(isComplete), consumers })
      opened.push(service)
      await service.handler.ready()
      return service
    }
    const service = await open(false)
    await service.register({ email: 'ann@example.com', password: 'correct horse' })
    await until(() => told.length === 1)
    await grant(
      {
        config: join(folder, 'config.json'),
        storage,
        identifier: 'ann@example.com',
        role: 'admin',
        isVerified: false,
      },
      () => {},
    )
    const all = [
      ['create', undefined],
      ['update', 'admin'],
    ]
    await until(() => told.length === 2)
    expect(told).toEqual(all)
    await service.handler.close()
    const next = await open(true)
    await next.send('POST /notes', { caller: { id: 'root', roles: ['admin'] }, body: { text: 'a' } })
    await until(() => told.some(([, text]) => text === 'a'))
    expect(told).toEqual([...all, ['create', 'a']])
    expect(next.logged).toEqual(service.logged)
  })
})
