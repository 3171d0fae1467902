// Tests of the permissions in config.json. To run them: node --test
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createTestHasher } from 'collection-service/testing'

const readJson = async (name) => JSON.parse(await readFile(new URL(name, import.meta.url), 'utf8'))
const config = await readJson('config.json')
const documents = await readJson('documents.json')

// A service in memory for each test, so that tests do not share documents. The hasher is fast but not secure.
const createService = () =>
  createCollectionService(config, createMemoryAdapter({ documents }), { hasher: createTestHasher() })

const [editor, author, reader] = documents.users.map(({ _id, name, role }) => ({
  id: _id,
  name,
  roles: role ? [role] : [],
}))
const stranger = null
const [hello, , draft] = documents.articles
const [welcome, spam] = documents.comments

// Calls the service as one caller. No password is needed, because `as` trusts its argument.
function actAs(caller, service = createService()) {
  const handler = service.as(caller)
  return async (method, path, body) => {
    const response = await handler(
      new Request(`http://localhost${path}`, { method, body: body && JSON.stringify(body) }),
    )
    return { status: response.status, body: response.status === 204 ? null : await response.json() }
  }
}

const statusOf = async (caller, ...request) => (await actAs(caller)(...request)).status

test('everyone reads published articles, without the notes field', async () => {
  const { body: articles } = await actAs(stranger)('GET', '/articles?sort[publishedAt]=1')
  assert.deepEqual(
    articles.map((article) => [article.title, article.notes]),
    [
      ['Hello, world', undefined],
      ['How to bake bread', undefined],
    ],
  )
  assert.equal(await statusOf(stranger, 'GET', '/articles?q[notes][$regex]=title'), 400)
  assert.equal(await statusOf(reader, 'GET', `/articles/${draft._id}`), 404)
  assert.equal((await actAs(author)('GET', `/articles/${draft._id}`)).body.title, 'Not finished yet')
})

test('authors write drafts, and editors publish them', async () => {
  const service = createService()
  const { status, body: article } = await actAs(author, service)('POST', '/articles', {
    title: 'Mine',
    status: 'published',
  })
  assert.deepEqual([status, article.status], [201, 'draft'])
  const path = `/articles/${article._id}`
  assert.equal((await actAs(author, service)('PATCH', path, { text: 'More' })).status, 200)
  assert.equal((await actAs(editor, service)('PATCH', path, { status: 'published' })).status, 200)
  assert.equal((await actAs(author, service)('PATCH', path, { text: 'Even more' })).status, 403)
  assert.equal((await actAs(stranger, service)('GET', path)).body.text, 'More')
})

test('readers cannot write articles', async () => {
  assert.equal(await statusOf(stranger, 'POST', '/articles', { title: 'Mine' }), 401)
  assert.equal(await statusOf(reader, 'POST', '/articles', { title: 'Mine' }), 403)
})

test('signed-in users comment on published articles, under their own name', async () => {
  const comment = { article: hello._id, text: 'Nice', author: 'Somebody else' }
  const { status, body } = await actAs(reader)('POST', '/comments', comment)
  assert.deepEqual([status, body.author], [201, 'Rita'])
  assert.equal(await statusOf(stranger, 'POST', '/comments', comment), 401)
  const refused = await actAs(reader)('POST', '/comments', { article: draft._id, text: 'I see it' })
  assert.deepEqual([refused.status, refused.body.errors[0].path], [400, '/article'])
})

test('editors hide comments, but cannot change their text', async () => {
  const service = createService()
  const textsFor = async (caller) => {
    const { body } = await actAs(caller, service)('GET', `/comments?q[article]=${hello._id}`)
    return body.map(({ text }) => text)
  }
  assert.deepEqual(await textsFor(stranger), ['Welcome!'])
  assert.deepEqual(await textsFor(editor), [welcome.text, spam.text])
  const path = `/comments/${welcome._id}`
  const { body } = await actAs(editor, service)('PATCH', path, { text: 'Rewritten', hidden: true })
  assert.deepEqual([body.text, body.hidden], ['Welcome!', true])
  assert.deepEqual(await textsFor(stranger), [])
})

test('a new account has no role, even if it asks for one', async () => {
  const account = {
    email: 'Eve@Example.com',
    password: 'a long secret',
    name: 'Eve',
    role: 'editor',
  }
  const response = await createService()(
    new Request('http://localhost/auth/register', { method: 'POST', body: JSON.stringify(account) }),
  )
  const { user } = await response.json()
  assert.deepEqual([user.email, user.name, user.role], ['eve@example.com', 'Eve', undefined])
})
