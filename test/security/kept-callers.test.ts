import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { sqliteDialect } from '../../src/adapters/sqlite/sqlite-dialect.js'
import type { StorageAdapter } from '../../src/index.js'
import { type Ann, begin, credentials, type KeptWorld, openKept } from '../support/kept-callers.js'
import { useLastingStorages } from '../support/storages.js'

// CONTRACT.md §4, "Sessions"; §5, "Claims": what a service has kept of a caller opens no door that is closed by now.

const opened: KeptWorld[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ handler }) => handler.close()))
})

function open(adapter: StorageAdapter): KeptWorld {
  const world = openKept({ adapter })
  opened.push(world)
  return world
}

type Ask = readonly [request: string, body?: object]

/** Requests that a member of team `a` may make, and nobody else. */
async function findDoors({ act }: KeptWorld): Promise<readonly Ask[]> {
  const { _id } = await act('POST /notes', { team: 'a', text: 'x' })
  const [update, create] = [{ text: 'x' }, { team: 'a', text: 'another' }]
  return [
    [`GET /notes/${_id}`],
    [`PATCH /notes/${_id}`, update],
    ['POST /_batch', { operations: [{ method: 'PATCH', path: `/notes/${_id}`, body: update }] }],
    ['POST /_batch', { operations: [{ method: 'GET', path: `/notes/${_id}` }] }],
    ['POST /notes', create],
  ]
}

/** What is answered at each of the doors. */
async function knock({ send }: KeptWorld, doors: readonly Ask[], token: string): Promise<readonly number[]> {
  const statuses: number[] = []
  for (const [request, body] of doors)
    statuses.push((await send(request, { token, ...(body ? { body } : {}) })).status)
  return statuses
}

const IN = [200, 200, 200, 200, 201]
const OUT = [401, 401, 401, 401, 401]
const STRANGER = [404, 404, 404, 404, 403]

/** How another service ends a session of Ann. */
const ENDS: { readonly [how: string]: (other: KeptWorld, ann: Ann) => Promise<unknown> } = {
  logout: ({ send }, { token }) => send('POST /auth/logout', { token }),
  'logout from everywhere': ({ send }, { token }) => send('POST /auth/logout-all', { token }),
  'another secret': ({ act }, { id }) => act(`PATCH /users/${id}`, { password: 'another password' }),
  'the end of the account': ({ act }, { id }) => act(`DELETE /users/${id}`),
}

/** How it takes a claim from her. */
const WITHDRAWALS: { readonly [how: string]: (other: KeptWorld, membership: string) => Promise<unknown> } = {
  'a deleted document': ({ act }, id) => act(`DELETE /members/${id}`),
  'a document that is of somebody else': ({ act }, id) => act(`PATCH /members/${id}`, { user: 'ben' }),
  'another value': ({ act }, id) => act(`PATCH /members/${id}`, { team: 'b' }),
  'a batch': ({ send }, id) =>
    send('POST /_batch', {
      caller: { id: 'root', roles: ['root'] },
      body: { operations: [{ method: 'DELETE', path: `/members/${id}` }] },
    }),
}

const membershipOf = async ({ send }: KeptWorld, { token, id }: Ann): Promise<string> =>
  (await send(`GET /members?q[user]=${id}`, { token })).body[0]._id

describe.each(useLastingStorages())('in %s, of a caller who is kept,', (_name, create) => {
  /** Two services over one place; the first has answered Ann at each door, twice. */
  async function meet() {
    const connect = create()
    const [world, other] = [open(connect()), open(connect())]
    const ann = await begin(world)
    const doors = await findDoors(world)
    for (const _ of [1, 2]) expect(await knock(world, doors, ann.token)).toEqual(IN)
    return { world, other, ann, doors }
  }

  test.each(Object.entries(ENDS))('a session ends at once by %s elsewhere', async (_how, end) => {
    const { world, other, ann, doors } = await meet()
    await end(other, ann)
    expect(await knock(world, doors, ann.token)).toEqual(OUT)
    expect((await world.send('GET /auth/me', { token: ann.token })).status).toBe(401)
  })

  test.each(Object.entries(WITHDRAWALS))('a claim ends at once by %s elsewhere', async (_how, withdraw) => {
    const { world, other, ann, doors } = await meet()
    await withdraw(other, await membershipOf(world, ann))
    expect(await knock(world, doors, ann.token)).toEqual(STRANGER)
  })

  test('the end of one session leaves another, and opens it for nobody', async () => {
    const { world, other, ann, doors } = await meet()
    const { token } = (await other.send('POST /auth/login', { body: credentials })).body
    expect(await knock(world, doors, token)).toEqual(IN)
    await other.send('POST /auth/logout', { token: ann.token })
    expect(await knock(world, doors, ann.token)).toEqual(OUT)
    expect(await knock(world, doors, token)).toEqual(IN)
  })

  test('what two callers share by equal claims, each loses alone', async () => {
    const { world, other, ann, doors } = await meet()
    const body = { ...credentials, email: 'ben@example.com' }
    const { token, user } = (await other.send('POST /auth/register', { body })).body
    expect(await knock(world, doors, token)).toEqual(STRANGER)
    await other.act('POST /members', { user: user._id, team: 'a' })
    expect(await knock(world, doors, token)).toEqual(IN)
    await other.act(`DELETE /members/${await membershipOf(world, ann)}`)
    expect(await knock(world, doors, ann.token)).toEqual(STRANGER)
    expect(await knock(world, doors, token)).toEqual(IN)
  })
})

/** Runs statements on a file of SQLite in a process of their own. */
function runElsewhere(file: string, statements: string): void {
  const driver = createRequire(import.meta.url).resolve('better-sqlite3')
  const program = 'const [driver, file, text] = process.argv.slice(1); require(driver)(file).exec(text)'
  execFileSync(process.execPath, ['-e', program, driver, file, statements])
}

test.each([
  ['a session', '_sessions', OUT],
  ['a claim', 'members', STRANGER],
])('%s that another process deletes from a file ends at once', async (_what, collection, expected) => {
  const file = join(mkdtempSync(join(tmpdir(), 'collection-service-kept-')), 'data.db')
  const world = open(createSqliteAdapter({ file }))
  const { token } = await begin(world)
  const doors = await findDoors(world)
  for (const _ of [1, 2]) expect(await knock(world, doors, token)).toEqual(IN)
  runElsewhere(file, `DELETE FROM ${sqliteDialect.table(collection)}`)
  expect(await knock(world, doors, token)).toEqual(expected)
})
