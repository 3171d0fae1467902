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

const [ann, bob] = documents.users.map((user) => ({ id: user._id }))

// Calls the service as one caller; `null` is anonymous. No password is needed, because `as` trusts its argument.
function actAs(caller, service = createService()) {
  const handler = service.as(caller)
  return async (method, path, body) => {
    const response = await handler(
      new Request(`http://localhost${path}`, { method, body: body && JSON.stringify(body) }),
    )
    return { status: response.status, body: response.status === 204 ? null : await response.json() }
  }
}

const titlesOf = ({ body }) => body.map((note) => note.title).sort()

test('users list and count only their own notes', async () => {
  assert.deepEqual(titlesOf(await actAs(ann)('GET', '/notes')), ['Books to read', 'Milk, bread, olives'])
  assert.deepEqual(titlesOf(await actAs(bob)('GET', '/notes')), ["Bob's secret plan"])
  assert.deepEqual((await actAs(bob)('GET', '/notes/count')).body, { total: 1 })
})

test('anonymous callers read and write nothing', async () => {
  assert.equal((await actAs(null)('GET', '/notes')).status, 401)
  assert.equal((await actAs(null)('POST', '/notes', { title: 'Mine' })).status, 401)
})

test('the notes of other users return 404', async () => {
  const service = createService()
  const { body: note } = await actAs(ann, service)('POST', '/notes', { title: 'For my eyes only' })
  for (const [method, body] of [['GET'], ['PATCH', { title: 'Changed' }], ['DELETE']]) {
    assert.equal((await actAs(bob, service)(method, `/notes/${note._id}`, body)).status, 404)
  }
  assert.equal((await actAs(ann, service)('DELETE', `/notes/${note._id}`)).status, 204)
})

test('a note needs a title, and records its creator', async () => {
  const refused = await actAs(ann)('POST', '/notes', { text: 'Untitled' })
  assert.equal(refused.status, 400)
  assert.deepEqual(
    refused.body.errors.map(({ path, code }) => [path, code]),
    [['/title', 'required']],
  )
  const created = await actAs(ann)('POST', '/notes', { title: 'Titled' })
  assert.deepEqual([created.status, created.body.createdBy, created.body.pinned], [201, ann.id, false])
})

test('a new account is signed in, and no answer shows its password', async () => {
  const service = createService()
  const account = { email: 'Eve@Example.com', password: 'a long secret', name: 'Eve' }
  const registered = await service(
    new Request('http://localhost/auth/register', { method: 'POST', body: JSON.stringify(account) }),
  )
  const { user, token } = await registered.json()
  assert.deepEqual([user.email, user.name, user.password], ['eve@example.com', 'Eve', undefined])
  const headers = { authorization: `Bearer ${token}` }
  const notes = await service(new Request('http://localhost/notes', { headers }))
  assert.deepEqual(await notes.json(), [])
})
