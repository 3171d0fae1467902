import { describe, expect, test } from 'vitest'
import type { StorageAdapter, StoredDocument } from '../../src/index.js'
import { checkData, checkMigrations, type StoredReport } from '../../src/tools/insight/index.js'
import { migrateCollections } from '../../src/tools/migrate/index.js'
import { useLastingStorages } from '../support/storages.js'
import { idOf, LONG_AGO } from '../support/stored.js'

// CONTRACT.md §8, "Check": pending steps, and what no step fixes

const CONFIG = {
  migrations: ['2026-lengths'],
  collections: {
    notes: {
      schema: {
        lang: { type: 'string', required: true, fill: 'en', maxLength: 2 },
        mail: { type: 'string', trim: true, lowercase: true, format: 'email' },
        at: { type: 'timestamp' },
        links: {
          type: 'array',
          items: { type: 'object', properties: { rel: { type: 'string', required: true, fill: 'self' } } },
        },
      },
    },
  },
} as const

const DOCUMENTS = [
  { mail: 'a@example.org', lang: 'de' },
  { mail: ' B@example.org', lang: 'de' },
  { links: [{}, { rel: 'next' }] },
  { mail: 'C@example.org', lang: 'german', at: 'now' },
  { mail: 'nobody', at: '2026-01-01' },
  { lang: 'de', extra: 1 },
]

const SYSTEM = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 1 }

async function store(adapter: StorageAdapter): Promise<void> {
  await adapter.open([{ name: 'notes', indexes: [] }])
  const steps = DOCUMENTS.map((document, i) => ({
    in: 'notes',
    insert: { _id: idOf(i + 1), ...SYSTEM, ...document } as StoredDocument,
  }))
  expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
}

const summary = (misfits: StoredReport['misfits']) =>
  misfits.map(({ field, error, count, ids }) => [field, error, count, ids])

const idsOf = (...numbers: readonly number[]): readonly string[] => numbers.map(idOf)

describe.each(useLastingStorages())('over %s, a check', (_, create) => {
  test('counts what each step changes, and tells what none fixes', async () => {
    const connect = create()
    const adapter = connect()
    await store(adapter)
    const [report] = await checkData(CONFIG, adapter)
    const of = (field: string, kind: string, ...numbers: readonly number[]) => {
      const ids = idsOf(...numbers)
      return { name: `notes.${field}`, field, kind, count: ids.length, ids }
    }
    expect(report?.steps).toEqual([
      of('lang', 'fill', 3, 5),
      of('links.rel', 'fill', 3),
      of('mail', 'form', 2),
      of('at', 'form', 5),
    ])
    const unfixed = [
      ['lang', 'too_long', 1, idsOf(4)],
      ['mail', 'wrong_format', 1, idsOf(5)],
      ['mail', 'not_normalised', 1, idsOf(4)],
      ['at', 'wrong_format', 1, idsOf(4)],
      ['extra', 'unknown_property', 1, idsOf(6)],
    ]
    expect(summary(report?.unfixed ?? [])).toEqual(expect.arrayContaining(unfixed))
    expect(report?.unfixed).toHaveLength(unfixed.length)

    // The run does what was told, and leaves what was told.
    const { steps } = await migrateCollections(CONFIG, adapter, {
      migrations: { '2026-lengths': { collections: { notes: () => undefined } } },
    })
    const ofFields = steps.filter(({ kind }) => kind !== 'migration')
    expect(ofFields.map(({ name, kind, done }) => [name, kind, done])).toEqual(
      report?.steps.map(({ name, kind, count }) => [name, kind, count]),
    )
    const [after] = await checkData(CONFIG, adapter)
    expect(after?.steps).toEqual([])
    expect(after?.misfits).toEqual(report?.unfixed)
    expect(after?.unfixed).toEqual(report?.unfixed)
    await adapter.close()
  })

  test('names the migrations that are not finished, with the documents that failed', async () => {
    const connect = create()
    const adapter = connect()
    await store(adapter)
    await adapter.open([
      { name: 'notes', indexes: [] },
      { name: '_schema', indexes: [] },
    ])
    const pending = (...numbers: readonly number[]) => [
      { name: '2026-lengths', failed: { count: numbers.length, ids: idsOf(...numbers) } },
    ]
    expect(await checkMigrations(CONFIG, adapter)).toEqual(pending())
    const run = (notes: (document: object) => undefined) =>
      migrateCollections(CONFIG, adapter, { migrations: { '2026-lengths': { collections: { notes } } } })
    await run((document) => {
      if ('extra' in document) throw new Error('extra')
      return undefined
    })
    expect(await checkMigrations(CONFIG, adapter)).toEqual(pending(6))
    await run(() => undefined)
    expect(await checkMigrations(CONFIG, adapter)).toEqual([])
    await adapter.close()
  })

  test('tells of no migrations in a storage without documents, which needs none', async () => {
    const adapter = create()()
    await adapter.open([
      { name: 'notes', indexes: [] },
      { name: '_schema', indexes: [] },
    ])
    expect(await checkMigrations(CONFIG, adapter)).toEqual([])
    await adapter.close()
  })
})
