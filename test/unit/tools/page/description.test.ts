import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { createCollectionService } from '../../../../src/index.js'
import { type Description, readDescription } from '../../../../src/tools/page/app/model/description.js'
import { createPage } from '../../../../src/tools/page/index.js'

const config = JSON.parse(
  await readFile(new URL('../../../../examples/teams/config.json', import.meta.url), 'utf8'),
)
const service = createCollectionService(config, undefined, { page: createPage(), logger: { warn() {} } })

async function describeFor(caller: { readonly id: string } | null): Promise<Description> {
  const handler = service.as(caller)
  const read = async (path: string) => (await handler(new Request(`http://localhost${path}`))).json()
  return readDescription(await read('/'), await read('/_openapi.json'))
}

let known: Description
beforeAll(async () => {
  known = await describeFor({ id: '0190163d-8694-7000-8000-00000000000a' })
})

test('a guest has nothing, where nothing is granted', async () => {
  expect([...(await describeFor(null)).collections]).toEqual([])
})

test('the fields of a collection are those of the schema, in its order', () => {
  const tasks = known.collections.get('tasks')
  expect(tasks?.fields.map(({ name, kind, target }) => [name, kind, target])).toEqual([
    ['_id', 'long', undefined],
    ['project', 'reference', 'projects'],
    ['team', 'reference', 'teams'],
    ['title', 'text', undefined],
    ['state', 'choice', undefined],
    ['assignee', 'reference', 'memberships'],
    ['createdAt', 'time', undefined],
    ['updatedAt', 'time', undefined],
    ['createdBy', 'reference', 'users'],
  ])
  expect(tasks?.hasChanges).toBe(true)
  expect(known.collections.get('teams')?.hasChanges).toBe(false)
})

test('what may be written is offered, and what may not is not', () => {
  const memberships = known.collections.get('memberships')
  expect(memberships?.createFields.map(({ name }) => name)).toEqual(['team', 'role', 'name', 'invitation'])
  expect(memberships?.updateFields.map(({ name }) => name)).toEqual(['role', 'name'])
  expect(memberships?.updateFields.every(({ isRequired }) => isRequired)).toBe(true)
  expect(known.collections.get('users')?.updateFields).toEqual([])
})

test('queries are what the parameters say', () => {
  const tasks = known.collections.get('tasks')
  expect(tasks?.filters.get('title')).toEqual(expect.arrayContaining(['$eq', '$in', '$regex', '$exists']))
  expect(tasks?.sortable.has('title')).toBe(true)
  expect(tasks?.expandable.has('assignee')).toBe(true)
  expect(tasks?.projectable.has('title')).toBe(true)
  expect([tasks?.maxLimit, tasks?.isUnlimited]).toEqual([100, false])
})
