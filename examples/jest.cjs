// The same kind of test with Jest. To run it, save it as articles.test.cjs beside config.json: npx jest
const { createCollectionService, createMemoryAdapter } = require('collection-service')
const { createTestHasher } = require('collection-service/testing')
const config = require('./config.json')

const documents = { articles: [{ title: 'Out', status: 'published' }, { title: 'Not yet' }] }

let service
beforeEach(() => {
  const options = { hasher: createTestHasher() }
  service = createCollectionService(config, createMemoryAdapter({ documents }), options)
})
afterEach(() => service.close())

const list = async (handler) => {
  const response = await handler(new Request('http://localhost/articles?sort[title]=1'))
  return (await response.json()).map(({ title }) => title)
}

test('strangers read what is published', async () => {
  expect(await list(service)).toEqual(['Out'])
})

test('editors read drafts too', async () => {
  expect(await list(service.as({ id: 'eve', roles: ['editor'] }))).toEqual(['Not yet', 'Out'])
})
