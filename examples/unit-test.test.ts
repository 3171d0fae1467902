// A configuration is worth a test of its own: a rule is easily wrong, and a handler needs no server.
// To run it: npx vitest run unit-test.test.ts
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createTestHasher, expectAllowed, expectDenied } from 'collection-service/testing'
import { expect, test } from 'vitest'
import config from './config.json' with { type: 'json' }

const articles = [
  { title: 'Out', status: 'published', views: 3 },
  { title: 'Not yet', status: 'draft' },
]

// A service of its own for each test, so that none sees what another has stored. The cheap hasher saves seconds.
const createService = () =>
  createCollectionService(config, createMemoryAdapter({ documents: { articles } }), {
    hasher: createTestHasher(),
  })

const send = (method: string, path: string, body?: object, token?: string) =>
  new Request(`http://localhost${path}`, {
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })

test('strangers read what is published, without its views', async () => {
  const response = await createService()(send('GET', '/articles'))
  const [article, ...others] = await response.json()
  expect(article).toMatchObject({ title: 'Out', status: 'published' })
  expect(article).not.toHaveProperty('views')
  expect(others).toEqual([])
})

test('a new account writes drafts', async () => {
  const service = createService()
  expect((await service(send('POST', '/articles', { title: 'Mine' }))).status).toBe(401)
  const account = { email: 'ann@example.com', password: 'correct horse' }
  const { token } = await (await service(send('POST', '/auth/register', account))).json()
  const created = await service(send('POST', '/articles', { title: 'Mine', status: 'published' }, token))
  expect(await created.json()).toMatchObject({ title: 'Mine', status: 'draft' })
})

// Permissions alone are shorter. A failure prints why the answer is another.
test('an editor publishes what an author wrote, and the author does not', async () => {
  const _id = '01890163-8694-7000-8000-000000000001'
  const ann = { id: '01890163-8694-7000-8000-00000000000a' }
  const editor = { id: '01890163-8694-7000-8000-00000000000e', roles: ['editor'] }
  const documents = { articles: [{ _id, title: 'Mine', createdBy: ann.id }] }
  const body = { status: 'published' }
  await expectAllowed(config, editor, 'PATCH', `/articles/${_id}`, { body, documents })
  await expectDenied(config, null, 'PATCH', `/articles/${_id}`, { body, documents })
  const { ignored } = await expectAllowed(config, ann, 'PATCH', `/articles/${_id}`, {
    body,
    documents,
    ignored: ['status'],
  })
  expect(ignored).toEqual(['status'])
})
