import { expect, test } from 'vitest'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { CONFIG, checkPublicPaths } from '../support/path-laws.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §2, "Paths and methods"

test('all paths in answers begin with the public path, and no requests do', () => checkPublicPaths())

test.each(['', '/'])('a public path of nothing is the root: %j', async (publicPath) => {
  const { send } = createTestService(CONFIG, { basePath: '/api', publicPath })
  const { body, headers } = await send('POST /api/notes', { body: {} })
  expect(headers.get('location')).toBe(`/notes/${body._id}`)
})

test.each([null, 5, 'desk', '/a b', '/..', 'https://a.b/c'])('%j is no public path', (publicPath) => {
  const create = () =>
    createCollectionService(CONFIG, createMemoryAdapter(), { publicPath: publicPath as string })
  expect(create).toThrow('options.publicPath: must be a path like "/api"')
})

test('a header of the request does not change it', async () => {
  const { send } = createTestService(CONFIG, { publicPath: '/desk' })
  const headers = {
    'x-forwarded-prefix': '/evil',
    'x-forwarded-host': 'evil.example',
    'x-script-name': '/evil',
  }
  const { body, headers: answered } = await send('POST /notes', { body: {}, headers })
  expect(answered.get('location')).toBe(`/desk/notes/${body._id}`)
})

test('inside a hook, links have the path of its own requests', async () => {
  const seen: unknown[] = []
  const { send } = createTestService(CONFIG, {
    basePath: '/api',
    publicPath: '/desk',
    hooks: {
      notes: {
        async before({ api }) {
          const response = await api(new Request('http://localhost/api/'))
          const { collections } = await response.json()
          for (const { href } of collections)
            seen.push([href, (await api(new Request(`http://localhost${href}`))).status])
        },
      },
    },
  })
  expect((await send('POST /api/notes', { body: {} })).status).toBe(201)
  expect(seen).toEqual([
    ['/api/notes', 200],
    ['/api/desk', 200],
  ])
})
