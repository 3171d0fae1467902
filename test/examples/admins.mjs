/** What `run.mjs` runs in a project of its own: the data providers, over a service in this process. */
import { createCollectionService } from 'collection-service'
import { createClient } from 'collection-service/client'
import { expect } from './expect.mjs'

const schema = {
  title: { type: 'string', required: true, unique: true },
  views: { type: 'integer', default: 0 },
  place: { type: 'object', properties: { city: { type: 'string' }, street: { type: 'string' } } },
  parent: { type: 'reference', collection: 'notes' },
}
const service = createCollectionService(
  { collections: { notes: { schema, permissions: { '*': true } } } },
  undefined,
  {
    production: false,
    logger: { warn() {} },
  },
)
const client = createClient(service)
const notes = client.collection('notes')
const ids = []
for (let i = 0; i < 250; i += 50) {
  const bodies = Array.from({ length: 50 }, (_, j) => ({ title: `note ${i + j}`, views: i + j }))
  ids.push(...(await notes.createMany(bodies)).map(({ _id }) => _id))
}
const refusal = (work) =>
  work.then(
    () => undefined,
    (thrown) => thrown,
  )
const titles = ({ data, total }) => [total, ...data.map(({ title }) => title)]

const EXAMPLES = {
  async 'react-admin'() {
    const { HttpError } = await import('react-admin')
    const { createDataProvider } = await import('./react-admin.ts')
    const provider = createDataProvider(client)
    const list = (filter, others) => provider.getList('notes', { filter, ...others })
    const page = { pagination: { page: 2, perPage: 2 }, sort: { field: 'views', order: 'DESC' } }
    expect('a page', titles(await list({}, page)), [250, 'note 247', 'note 246'])
    expect('operators', titles(await list({ views: { $gte: 248 } })), [2, 'note 248', 'note 249'])
    expect('a list of values', titles(await list({ id: [ids[3], ids[5]] })), [2, 'note 3', 'note 5'])
    const newest = { pagination: { page: 1, perPage: 1 }, sort: { field: 'id', order: 'DESC' } }
    expect('by id', (await list({}, newest)).data[0].id, ids[249])
    const { data: many } = await provider.getMany('notes', { ids: [...ids, ids[0]] })
    expect(
      'many',
      [
        many.length,
        many
          .map(({ id }) => id)
          .sort()
          .join() === [...ids].sort().join(),
      ],
      [250, true],
    )

    const place = { city: 'Bonn', street: 'Weg' }
    const made = await provider.create('notes', { data: { title: 'mine', place, parent: ids[0] } })
    const { id } = made.data
    expect('a nested filter', titles(await list({ place: { city: 'Bonn' } })), [1, 'mine'])
    const asked = { ...newest, target: 'parent', id: ids[0], filter: {} }
    expect('a reference', titles(await provider.getManyReference('notes', asked)), [1, 'mine'])
    const { data: read } = await provider.getOne('notes', { id })
    await notes.update(id, { views: 7 })
    const data = { ...read, title: 'ours', place: { city: 'Bonn' } }
    const { data: saved } = await provider.update('notes', { id, data, previousData: read })
    expect(
      'what is saved',
      [saved.id, saved.title, saved.views, saved.place],
      [id, 'ours', 7, { city: 'Bonn' }],
    )
    const stale = await refusal(provider.update('notes', { id, data: { title: 'late' }, previousData: read }))
    expect('a conflict', [stale instanceof HttpError, stale.status], [true, 412])
    const taken = await refusal(provider.create('notes', { data: { title: 'ours' } }))
    expect(
      'a taken value',
      [taken instanceof HttpError, taken.status, taken.body.code],
      [true, 409, 'unique_violation'],
    )
    const wrong = await refusal(provider.create('notes', { data: { title: 'x', views: 'many' } }))
    expect('a fault at its input', [wrong.status, Object.keys(wrong.body.errors)], [400, ['views']])

    await provider.updateMany('notes', { ids: ids.slice(100), data: { views: 1000 } })
    expect('updateMany', (await list({ views: 1000 })).total, 150)
    await provider.delete('notes', { id, previousData: saved })
    expect('delete', (await refusal(provider.getOne('notes', { id }))).status, 404)
    await provider.deleteMany('notes', { ids: ids.slice(100) })
    expect('deleteMany', (await list({})).total, 100)
  },
  async refine() {
    const { createDataProvider } = await import('./refine.ts')
    const provider = createDataProvider('https://example.com/api', client)
    const resource = 'notes'
    expect('the URL', provider.getApiUrl(), 'https://example.com/api')
    const list = (filters, others) => provider.getList({ resource, filters, ...others })
    const sorters = [{ field: 'views', order: 'desc' }]
    const page = await list([], { sorters, pagination: { currentPage: 2, pageSize: 2 } })
    expect('a page', titles(page), [250, 'note 247', 'note 246'])
    const whole = await list([], { pagination: { mode: 'off' } })
    expect('without pages', [whole.total, whole.data.length], [250, 250])
    const by = async (field, operator, value) => (await list([{ field, operator, value }])).total
    expect(
      'operators',
      [
        ...[await by('views', 'eq', 3), await by('views', 'ne', 3), await by('views', 'between', [3, 5])],
        ...[await by('id', 'in', ids.slice(0, 4)), await by('id', 'nin', ids.slice(0, 4))],
        ...[await by('title', 'contains', 'E 24'), await by('title', 'containss', 'E 24')],
        ...[await by('title', 'startswith', 'NOTE 1'), await by('title', 'endswiths', ' 1')],
        ...[
          await by('title', 'contains', '.'),
          await by('parent', 'null', true),
          await by('parent', 'nnull', true),
        ],
      ],
      [1, 249, 3, 4, 246, 11, 0, 111, 1, 0, 250, 0],
    )
    const range = [
      { field: 'views', operator: 'gte', value: 5 },
      { field: 'views', operator: 'lt', value: 7 },
    ]
    expect('two conditions', titles(await list(range)), [2, 'note 5', 'note 6'])
    const either = {
      operator: 'or',
      value: [range[1], { operator: 'and', value: [{ field: 'views', operator: 'gt', value: 248 }] }],
    }
    expect('or', (await list([either])).total, 8)
    expect('twice', (await refusal(list([range[0], range[0]]))) instanceof TypeError, true)
    expect('no such operator', (await refusal(by('title', 'ncontains', 'x'))) instanceof TypeError, true)
    const { data: many } = await provider.getMany({ resource, ids })
    expect('many', [many.length, new Set(many.map(({ id }) => id)).size], [250, 250])

    const { data: made } = await provider.create({ resource, variables: { title: 'mine', views: 1 } })
    const { id } = made
    const { data: saved } = await provider.update({ resource, id, variables: { title: 'ours' } })
    expect('what is saved', [saved.id, saved.title, saved.views], [id, 'ours', 1])
    const taken = await refusal(provider.update({ resource, id, variables: { title: 'note 1' } }))
    expect('a conflict', [taken.statusCode, taken.code], [409, 'unique_violation'])
    const wrong = await refusal(provider.create({ resource, variables: { title: 'x', views: 'many' } }))
    expect('a fault at its field', [wrong.statusCode, Object.keys(wrong.errors)], [400, ['views']])
    expect('deleteOne', (await provider.deleteOne({ resource, id })).data, { id })
    expect('it is gone', (await refusal(provider.getOne({ resource, id }))).statusCode, 404)
  },
}

await EXAMPLES[process.argv[2]]()
await service.close()
