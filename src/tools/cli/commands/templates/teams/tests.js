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
  createCollectionService(config, createMemoryAdapter({ documents }), {
    hasher: createTestHasher(),
    logger: {},
  })

// Ann is the admin of Red, Max a member, Gil a guest; Bob is the admin of Blue. Eve is invited to Red, Zoe has no team.
const [ann, max, gil, bob, eve, zoe] = documents.users.map(({ _id, email }) => ({ id: _id, email }))
const [red, blue] = documents.teams
const [garden, feast, boat] = documents.projects
const [toMax, , toEve] = documents.invitations

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
const titlesFor = async (caller, path, service) =>
  (await actAs(caller, service)('GET', path)).body.map(({ title }) => title)

test('the founder of a team becomes its first admin in the same batch, but not later', async () => {
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

test('the admin of one team has no rights in another', async () => {
  assert.equal(await statusOf(bob, 'GET', `/projects/${garden._id}`), 404)
  assert.equal(await statusOf(bob, 'DELETE', `/projects/${garden._id}`), 404)
  assert.equal(await statusOf(bob, 'PATCH', `/teams/${red._id}`, { name: 'Mine' }), 403)
})

test('a guest reads projects, but no drafts of others', async () => {
  assert.deepEqual(await titlesFor(gil, '/projects'), [garden.title])
  assert.deepEqual(await titlesFor(max, '/projects'), [garden.title, feast.title, boat.title])
  assert.equal(await statusOf(gil, 'POST', '/projects', { team: red._id, title: 'Pond' }), 403)
})

test('invited users join with the role of the invitation, and no other', async () => {
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

test('deleting an invitation removes the member', async () => {
  const service = createService()
  assert.equal((await actAs(ann, service)('DELETE', `/invitations/${toMax._id}`)).status, 204)
  assert.deepEqual(await titlesFor(max, '/tasks', service), [])
})

test('a task and its project must belong to the same team', async () => {
  const between = { team: red._id, project: boat._id, title: 'Between' }
  const { status, body } = await actAs(max)('POST', '/tasks', between)
  assert.deepEqual([status, body.errors[0].path], [400, '/project'])
  assert.equal(await statusOf(bob, 'POST', '/tasks', { ...between, team: blue._id }), 201)
})

test('only its writer reads a draft of a comment', async () => {
  const textsFor = async (caller) => (await actAs(caller)('GET', '/comments')).body.map(({ text }) => text)
  assert.deepEqual(await textsFor(max), ['Tomatoes!', 'Or rather'])
  assert.deepEqual(await textsFor(ann), ['Tomatoes!'])
  assert.deepEqual(await textsFor(gil), [])
})
