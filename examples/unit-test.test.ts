// A configuration is worth a test of its own: a rule is easily wrong, and a handler needs no server.
// To run it: npx vitest run unit-test.test.ts
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createTestHasher } from 'collection-service/testing'
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
