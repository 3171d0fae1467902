import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { readExistingDatabase } from '../../src/adapters/postgres/read-existing.js'
import { readExistingFile } from '../../src/adapters/sqlite/read-existing.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { FieldRef } from '../../src/core/filter/filter.js'
import type { CollectionPlan } from '../../src/core/storage.js'
import { createFormerRecords } from '../support/layout-laws.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { createTestService, faultsOf } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'

/** What a configuration no longer makes unique (CONTRACT.md §7, "Storage"). */

const field = (path: string): FieldRef => ({ path, type: 'string', each: false })
const planOf = (...unique: readonly (readonly string[])[]): readonly CollectionPlan[] => [
  { name: 'things', indexes: unique.map((paths) => ({ fields: paths.map(field), unique: true })) },
]

const lasting = useLastingStorages()
const postgres = usePostgres()

async function runInPostgres(statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(statements).finally(() => client.end())
}

/** A storage that an operator can mend, and that can be read without its adapter. */
async function createMendable(kind: string) {
  if (kind === 'SQLite') {
    const file = join(mkdtempSync(join(tmpdir(), 'collection-service-left-')), 'data.db')
    return {
      create: () => createSqliteAdapter({ file }),
      read: () => readExistingFile(file),
    }
  }
  const schema = newSchema()
  if (kind.endsWith('former layout')) await runInPostgres(createFormerRecords(schema))
  return {
    create: () => createPostgresAdapter({ connectionString: postgres.url, schema }),
    read: () => readExistingDatabase(postgres.url, schema),
  }
}

describe.each(['SQLite', 'PostgreSQL', 'PostgreSQL in the former layout'])('a left index in %s', (kind) => {
  test('is known without the adapter, and ends as its report says', async () => {
    const { create, read } = await createMendable(kind)
    const write = async (plans: readonly CollectionPlan[], _id: string) => {
      const adapter = create()
      await adapter.open(plans)
      const { ok } = await adapter.write([{ in: 'things', insert: { _id, _version: 1, a: 'x' } }], {})
      await adapter.close()
      return ok
    }
    const readLeft = async () => {
      const documents = await read()
      const left = await documents.leftUnique(planOf())
      await documents.close()
      return left
    }
    expect(await write(planOf(['a']), '1')).toBe(true)
    const [left, ...others] = await readLeft()
    expect([left?.fields, others]).toEqual([['a'], []])
    expect(left?.mend).toBe('run collection-service migrate --drop-unique things a --yes')
    expect(await write(planOf(), '2')).toBe(false)
    const adapter = create()
    await adapter.open([])
    await adapter.dropUnique?.('things', ['a'])
    await adapter.close()
    expect(await write(planOf(), '2')).toBe(true)
    expect(await readLeft()).toEqual([])
  })
})

describe.each(lasting)('what was made unique in %s', (name, createLasting) => {
  test('stays so, and the storage knows it under another configuration', async () => {
    const create = createLasting()
    /** Opens the storage with a plan. Returns what becomes of equal documents, and the unique indexes that are left. */
    const open = async (plans: readonly CollectionPlan[], ids: readonly string[]) => {
      const adapter = create()
      await adapter.open(plans)
      const results = []
      for (const _id of ids)
        results.push(
          (await adapter.write([{ in: 'things', insert: { _id, _version: 1, a: 'x', b: _id } }], {})).ok,
        )
      const left = await adapter.leftUnique?.(plans)
      await adapter.close()
      return { results, left }
    }
    const first = await open(planOf(['a'], ['a', 'b']), ['1', '2'])
    expect(first).toEqual({ results: [true, false], left: [] })

    const without = await open(planOf(['a', 'b']), ['3'])
    expect(without.results).toEqual([false])
    expect(without.left).toEqual([
      {
        collection: 'things',
        fields: ['a'],
        mend: expect.stringContaining(name === 'memory' ? 'restart the process' : '--drop-unique things a '),
      },
    ])
    expect((await open(planOf(), [])).left).toHaveLength(2)
    expect((await open(planOf(['a'], ['a', 'b']), [])).left).toEqual([])
    // Another order of the fields binds as much.
    expect((await open(planOf(['a'], ['b', 'a']), [])).left).toEqual([])
    // Other collections are not reported.
    expect((await open([{ name: 'others', indexes: [] }], [])).left).toEqual([])
  })
})

describe.each(lasting)('a conflict in what is left unique in %s', (_, createLasting) => {
  const opened = closeAfterEach()

  test.each([
    ['names nothing that is not declared', false, ['slug']],
    ['names what documents may hold beside what is declared', true, ['slug', 'team']],
  ])('%s', async (_name, additionalProperties, named) => {
    const create = createLasting()
    const start = (settings: object) => {
      const service = createTestService(
        { collections: { notes: settings } },
        { adapter: create(), authenticate: () => ({ id: 'ann' }) },
      )
      opened.push(service)
      return service
    }
    const former = start({
      schema: { team: { type: 'string' }, slug: { type: 'string' } },
      indexes: [{ fields: ['team', 'slug'], unique: true }],
      permissions: { '*': true },
    })
    const bodies = ['x', 'y'].map((slug) => ({ team: 'a', slug }))
    const [, second] = await Promise.all(bodies.map((body) => former.send('POST /notes', { body })))
    await former.handler.close()

    const service = start({
      schema: { slug: { type: 'string' } },
      additionalProperties,
      permissions: { user: { read: true, update: true } },
    })
    const sent = await service.send(`PATCH /notes/${second?.body._id}`, { body: { slug: 'x' } })
    expect([sent.status, sent.body.code]).toEqual([409, 'unique_violation'])
    const paths = sent.body.errors.map(({ path }: { readonly path: string }) => path)
    expect(paths.filter((path: string) => path !== '').sort()).toEqual(named.map((name) => `/${name}`))
    expect(sent.text.includes('team')).toBe(additionalProperties)
  })

  test('names a system field that its caller may read', async () => {
    const config = {
      collections: {
        notes: {
          schema: { slug: { type: 'string' } },
          indexes: [{ fields: ['createdBy', 'slug'], unique: true }],
          permissions: { user: { read: true, create: true } },
        },
      },
    } as const
    const service = createTestService(config, {
      adapter: createLasting()(),
      authenticate: () => ({ id: 'ann' }),
    })
    opened.push(service)
    const body = { slug: 'x' }
    await service.send('POST /notes', { body })
    expect(Object.keys(faultsOf(await service.send('POST /notes', { body }))).sort()).toEqual([
      '/createdBy',
      '/slug',
    ])
  })
})
