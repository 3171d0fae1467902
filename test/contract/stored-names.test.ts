import { describe, expect, test, vi } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  ConfigError,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../src/index.js'
import { checkData, comparePermissions, explainRequest } from '../../src/tools/insight/index.js'
import { dump, load } from '../../src/tools/transfer/index.js'
import { type AnyConfig, createTestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'
import { AFTER, BEFORE, STORED_NAME_LAWS } from '../support/stored-name-laws.js'

// CONTRACT.md §1, "Stored names"

const text = { type: 'string' } as const
const opened = closeAfterEach()

const faultsOf = (collections: object): readonly string[] => {
  try {
    createCollectionService({ collections } as never)
    return []
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    return thrown.faults.map(({ path, message }) => `${path} ${message}`)
  }
}

describe.each(useLastingStorages())('in %s', (_, create) => {
  test.each(STORED_NAME_LAWS)('%s', async (_, check) => {
    await check({ connect: create(), opened })
  })
})

describe.each(useLastingStorages())('in %s, tools', (_, create) => {
  const storeOne = async (adapter: StorageAdapter): Promise<void> => {
    const service = createTestService(BEFORE, { adapter })
    opened.push(service)
    await service.register({ mail: 'ann@example.com', password: 'correct horse' })
    await service.send('POST /posts', { body: { title: 'One', place: { street: 'Elm' } } })
  }

  test('dump and load stored names, so that a dump fits the configuration before a rename and after it', async () => {
    const connect = create()
    const adapter = connect()
    await storeOne(adapter)
    const printed = await Promise.all(
      [BEFORE, AFTER].map(async (config) => {
        const lines: string[] = []
        const { undeclared } = await dump(config, adapter, (text) => void lines.push(text))
        expect(undeclared).toEqual([])
        return lines.join('')
      }),
    )
    expect(printed[1]).toBe(printed[0])
    expect(printed[0]).toContain('"title":"One"')
    const other = createMemoryAdapter()
    await load(AFTER, other, [Buffer.from(printed[0] ?? '')])
    const service = createTestService(AFTER, { adapter: other })
    opened.push(service)
    expect((await service.send('GET /articles')).body).toMatchObject([
      { headline: 'One', address: { city: 'Elm' } },
    ])
    const body = { email: 'ann@example.com', secret: 'correct horse' }
    expect((await service.send('POST /auth/login', { body })).status).toBe(200)
  })

  test('check stored documents by their declared names', async () => {
    const adapter = create()()
    await storeOne(adapter)
    const reports = await checkData(AFTER, adapter)
    expect(reports.map(({ collection, documents, misfits }) => [collection, documents, misfits])).toEqual([
      ['users', 1, []],
      ['articles', 1, []],
    ])
  })
})

describe.each(useLastingStorages())('in %s, values that no field has after a rename', (_, create) => {
  const place = (properties: object) => ({ type: 'object', properties })
  const before = {
    title: { ...text, unique: true },
    headline: { ...text, unique: true },
    place: place({ town: text, city: text }),
    code: text,
  }
  const after = {
    headline: { ...text, stored: 'title' },
    place: place({ city: { ...text, stored: 'town' } }),
    pin: { type: 'hash', stored: 'code' },
  }
  const NO_FIELD = 'is the stored name of no field'

  test('are found by their names', async () => {
    const connect = create()
    const open = (config: AnyConfig, adapter: StorageAdapter) => {
      const service = createTestService(config, { adapter })
      opened.push(service)
      return service
    }
    const old = open({ collections: { notes: { schema: before, permissions: { '*': true } } } }, connect())
    const body = { title: 't', headline: 'h', place: { town: 't', city: 'c' }, code: '1234' }
    const { _id } = (await old.send('POST /notes', { body })).body
    const adapter = connect()
    const renamed = {
      collections: { articles: { stored: 'notes', schema: after, permissions: { '*': true } } },
    }
    const now = open(renamed, adapter)
    await now.handler.ready()
    const one = { count: 1, ids: [_id] }
    const [report] = await checkData(renamed, adapter)
    expect(report?.misfits).toEqual([
      { field: 'headline', error: 'unknown_property', message: NO_FIELD, ...one },
      { field: 'place.city', error: 'unknown_property', message: NO_FIELD, ...one },
      { field: 'pin', error: 'wrong_type', message: 'is stored as it is, not as a hash', ...one },
    ])
    expect(report?.leftUnique.map(({ fields }) => fields).sort()).toEqual([
      ['"headline" in the storage'],
      ['headline'],
    ])
    await vi.waitFor(() => expect(JSON.stringify(now.logged)).toContain(NO_FIELD), 10_000)
    // Only the command that drops an index has the stored name of a field.
    const logged = JSON.stringify(now.logged).replaceAll(/--drop-unique [\w ]+ --yes/g, '')
    expect(logged).not.toMatch(/_:|title|town/)
    // A text that was stored before the field became a secret goes with the next secret, as without a rename.
    await now.send(`PATCH /articles/${_id}`, { body: { pin: '5678' } })
    const [stored] = await adapter.list('notes', { filter: everything, sort: [], skip: 0, limit: null })
    expect(stored).toMatchObject({ title: 't', headline: 'h', place: { town: 't', city: 'c' } })
    expect(stored).not.toHaveProperty('code')
  })
})

test('an explanation has the declared names', async () => {
  const explanation = await explainRequest(AFTER, {
    method: 'PATCH',
    path: '/articles/0190163d-8694-7000-8000-000000000001',
    body: { headline: 'Two' },
    caller: null,
    documents: { articles: [{ _id: '0190163d-8694-7000-8000-000000000001', headline: 'One' }] },
  })
  expect(explanation.answer).toMatchObject({ status: 200, body: { headline: 'Two' } })
  expect(JSON.stringify(explanation)).not.toContain('title')
})

describe('a comparison of configurations has one removed and one new for a changed stored name of', () => {
  const withNames = (collection: object, field: object) => ({
    collections: { notes: { ...collection, schema: { text: { ...text, ...field } } } },
  })
  test.each([
    ['a field', withNames({}, { stored: 'body' }), '/collections/notes/schema/text'],
    ['a collection', withNames({ stored: 'posts' }, {}), '/collections/notes'],
  ])('%s', (_, later, pointer) => {
    const differences = comparePermissions(withNames({}, {}), later)
    expect(differences).toEqual([
      { kind: 'schema', pointer, before: expect.anything(), follows: [] },
      { kind: 'schema', pointer, after: expect.anything(), follows: [] },
    ])
  })
})

describe('a configuration', () => {
  const twice = { title: text, headline: { ...text, stored: 'title' } }
  const object = (properties: object) => ({ type: 'object', properties })
  test.each<[what: string, collections: object, faults: readonly string[]]>([
    [
      'has no two fields with one stored name',
      { notes: { schema: twice } },
      ['/collections/notes/schema/headline/stored "title" is the stored name of "title" too'],
    ],
    [
      'has no two fields whose stored names differ only in letter case',
      { notes: { schema: { a: { ...text, stored: 'Title' }, b: { ...text, stored: 'title' } } } },
      [
        '/collections/notes/schema/b/stored "title" differs from "Title", the stored name of "a", only in letter case',
      ],
    ],
    [
      'has no two properties with one stored name, at any depth',
      { notes: { schema: { list: { type: 'array', items: object(twice) } } } },
      [
        '/collections/notes/schema/list/items/properties/headline/stored "title" is the stored name of "title" too',
      ],
    ],
    [
      'has no two collections with one stored name',
      { notes: { schema: {} }, others: { schema: {}, stored: 'notes' } },
      ['/collections/others/stored "notes" is the stored name of "notes" too'],
    ],
    [
      'may exchange names',
      { notes: { schema: { a: { ...text, stored: 'b' }, b: { ...text, stored: 'a' } } } },
      [],
    ],
    [
      'has no rule that names the stored name of another field',
      {
        notes: {
          schema: { headline: { ...text, stored: 'title' } },
          additionalProperties: true,
          permissions: { user: { create: { pick: ['title'] } } },
        },
      },
      ['/collections/notes/permissions/user/create/pick/0 there is no field "title" in the schema'],
    ],
  ])('%s', (_, collections, faults) => {
    expect(faultsOf(collections)).toEqual(faults)
  })

  test.each(['_id', 'createdAt', 'a b', '', 1])('takes no stored name %j', (stored) => {
    expect(faultsOf({ notes: { schema: { a: { ...text, stored } } } })).toHaveLength(1)
  })

  test('gives elements of an array no stored name', () => {
    const schema = { list: { type: 'array', items: { ...text, stored: 'x' } } }
    expect(faultsOf({ notes: { schema } })).toHaveLength(1)
  })
})
