// Permissions as tests. To run them: node --test
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createTestHasher } from 'collection-service/testing'

const readJson = async (name) => JSON.parse(await readFile(new URL(name, import.meta.url), 'utf8'))
const config = await readJson('config.json')
const documents = await readJson('documents.json')

// An in-memory service for each test, so that tests share no documents. The hasher is cheap: for tests only.
const createService = () =>
  createCollectionService(config, createMemoryAdapter({ documents }), {
    hasher: createTestHasher(),
    logger: {},
  })

// Ann is the admin of Red, Max a member, Gil a guest; Bob is the admin of Blue. Eve is invited to Red, Zoe has no team.
const [ann, max, gil, bob, eve, zoe] = documents.users.map(({ _id, email }) => ({ id: _id, email }))
const [red, blue] = documents.teams
const [garden, feast, boat] = documents.projects
const [toMax, , toEve] = documents.invitations

// The service as one caller. No password is needed: `as` trusts its argument.
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
const titlesFor = async (caller, path, service) =>
  (await actAs(caller, service)('GET', path)).body.map(({ title }) => title)

test('who founds a team becomes its first admin in the same batch, and nobody later', async () => {
  const service = createService()
  const act = actAs(zoe, service)
  const team = crypto.randomUUID()
  const operations = [
    { method: 'PUT', path: `/teams/${team}`, ifNoneMatch: '*', body: { name: 'New' } },
    { method: 'POST', path: '/memberships', body: { team, role: 'admin', name: 'Zoe' } },
  ]
  assert.equal((await act('POST', '/_batch', { operations })).status, 200)
  assert.equal((await act('POST', '/projects', { team, title: 'First' })).status, 201)
  const late = { team, role: 'admin', name: 'Max' }
  assert.equal((await actAs(max, service)('POST', '/memberships', late)).status, 403)
})

test('the admin of one team is nothing in another', async () => {
  assert.equal(await statusOf(bob, 'GET', `/projects/${garden._id}`), 404)
  assert.equal(await statusOf(bob, 'DELETE', `/projects/${garden._id}`), 404)
  assert.equal(await statusOf(bob, 'PATCH', `/teams/${red._id}`, { name: 'Mine' }), 403)
})

test('a guest reads projects, and no drafts of others', async () => {
  assert.deepEqual(await titlesFor(gil, '/projects'), [garden.title])
  assert.deepEqual(await titlesFor(max, '/projects'), [garden.title, feast.title, boat.title])
  assert.equal(await statusOf(gil, 'POST', '/projects', { team: red._id, title: 'Pond' }), 403)
})

test('who is invited joins as what they were invited as, and as nothing more', async () => {
  const service = createService()
  const join = (caller, role) =>
    actAs(caller, service)('POST', '/memberships', {
      team: red._id,
      role,
      name: 'Me',
      invitation: toEve._id,
    })
  assert.equal((await join(zoe, 'guest')).status, 400)
  assert.equal((await join(eve, 'admin')).status, 400)
  assert.equal((await join(eve, 'guest')).status, 201)
  assert.deepEqual(await titlesFor(eve, '/projects', service), [garden.title])
})

test('who takes an invitation back, expels', async () => {
  const service = createService()
  assert.equal((await actAs(ann, service)('DELETE', `/invitations/${toMax._id}`)).status, 204)
  assert.deepEqual(await titlesFor(max, '/tasks', service), [])
})

test('a task and its project belong to one team', async () => {
  const between = { team: red._id, project: boat._id, title: 'Between' }
  const { status, body } = await actAs(max)('POST', '/tasks', between)
  assert.deepEqual([status, body.errors[0].path], [400, '/project'])
  assert.equal(await statusOf(bob, 'POST', '/tasks', { ...between, team: blue._id }), 201)
})

test('a draft of a comment is for its writer alone', async () => {
  const textsFor = async (caller) => (await actAs(caller)('GET', '/comments')).body.map(({ text }) => text)
  assert.deepEqual(await textsFor(max), ['Tomatoes!', 'Or rather'])
  assert.deepEqual(await textsFor(ann), ['Tomatoes!'])
  assert.deepEqual(await textsFor(gil), [])
})
