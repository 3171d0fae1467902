import { expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { actAs, CONFIG, idOf, openTeams, PEOPLE } from '../examples/support/teams.js'
import { spyOn } from './fixture.js'

// CONTRACT.md §5, "Claims"

/** What somebody would try who wants to be in a team, in the example of teams. */

const RED = idOf('teams', 'Red')
const GARDEN = idOf('projects', 'Garden')

async function open() {
  const adapter = spyOn(createMemoryAdapter())
  const service = await openTeams(adapter, CONFIG)
  await service.reset()
  const people = Object.fromEntries(Object.keys(PEOPLE).map((name) => [name, actAs(service, name)]))
  const act = (name: string) => people[name] ?? actAs(service, name)
  adapter.calls.length = 0
  return { ...service, act, adapter }
}

const found = (id: string) => ({
  operations: [
    { method: 'PUT', path: `/teams/${id}`, ifNoneMatch: '*', body: { name: 'Red' } },
    { method: 'POST', path: '/memberships', body: { team: id, role: 'admin', name: 'Me' } },
    { method: 'GET', path: `/projects/${GARDEN}` },
  ],
})

test('who takes the _id of a deleted team finds nothing of it', async () => {
  const { act } = await open()
  expect((await act('bob')('POST /_batch', found(RED))).body).toMatchObject({ status: 412, operation: 0 })
  expect((await act('ann')(`DELETE /teams/${RED}`)).status).toBe(204)
  expect((await act('bob')('POST /_batch', found(RED))).body).toMatchObject({ status: 404, operation: 2 })
  const again = { operations: found(RED).operations.slice(0, 2) }
  expect((await act('bob')('POST /_batch', again)).status).toBe(200)
  for (const name of ['projects', 'tasks', 'comments', 'invitations'])
    expect((await act('bob')(`GET /${name}/count`)).body.total).toBe(1)
  expect((await act('max')('GET /projects?q[title]=Garden')).body).toEqual([])
})

test.each([
  ['a host names the claims', { teams: [RED], worksIn: [RED], adminOf: [RED], founded: [RED] }],
  ['a role is named like one', { roles: ['admin', 'adminOf', 'owner'] }],
  ['memberships come as a field', { memberships: [{ team: RED, role: 'admin' }] }],
])('%s: and still nothing is there', async (_, fields) => {
  const { send } = await open()
  const caller = { ...PEOPLE.zoe, id: PEOPLE.zoe?.id ?? '', ...fields }
  for (const name of ['projects', 'tasks', 'memberships', 'invitations'])
    expect((await send(`GET /${name}`, { caller })).body).toEqual([])
  expect((await send(`PATCH /teams/${RED}`, { caller, body: { name: 'Mine' } })).status).toBe(403)
})

test.each([
  ['q[team]="$user.adminOf"', 200],
  ['q[team][$in]=["$user.adminOf"]', 200],
  ['q[$user.adminOf]=1', 400],
  ['sort[adminOf]=1', 400],
  ['project=["adminOf"]', 400],
  ['expand=["adminOf"]', 400],
])('a query knows no claims: %s', async (query, status) => {
  const { act } = await open()
  const answer = await act('ann')(`GET /projects?${query}`)
  expect(answer.status).toBe(status)
  if (status === 200) expect(answer.body).toEqual([])
})

test('claims are shown nowhere', async () => {
  const { act } = await open()
  for (const path of ['/', '/users', `/users/${PEOPLE.ann?.id}`, '/teams', '/memberships'])
    expect((await act('ann')(`GET ${path}`)).text).not.toMatch(/worksIn|adminOf|founded/)
})

test('no claim is read for what is denied anyway', async () => {
  const { act, adapter } = await open()
  for (const [line, status] of [
    ['GET /projects', 401],
    ['POST /projects', 401],
    [`DELETE /projects/${GARDEN}`, 401],
  ] as const)
    expect((await act('nobody')(line)).status).toBe(status)
  expect(adapter.calls).toEqual([])
})
