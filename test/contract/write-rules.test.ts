import { describe, expect, test } from 'vitest'
import { createTestService } from '../support/service.js'
import { checkRole, checkWrite, roleCases, writeCases } from '../support/write-rules.js'

// CONTRACT.md §5, "Writing", "The role field"

describe('writing: the most specific subject that mentions the operation decides', () => {
  test.each(writeCases)('$rule', (writeCase) => checkWrite(writeCase))
})

describe('the role field is accepted from a body', () => {
  test.each(roleCases)('%s', (...roleCase) => checkRole(roleCase))
})

describe('registration runs under the rule of *', () => {
  const config = (create: unknown) => ({
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true },
          password: { type: 'hash' },
          name: { type: 'string' },
          role: { type: 'string', enum: ['member', 'admin'] },
        },
        permissions: { '*': { create }, owner: { read: true } },
      },
    },
    auth: { roleField: 'role' },
  })
  const body = { email: 'ann@example.com', password: 'correct horse', name: 'Ann', role: 'admin' }

  test.each([
    [
      'its set gives a role, whatever the body says',
      { pick: ['name'], set: { role: 'member' } },
      { name: 'Ann', role: 'member' },
    ],
    ['a pick that names the role does not let it in', { pick: ['name', 'role'] }, { name: 'Ann' }],
    ['true does not let the role in', true, { name: 'Ann' }],
    ['false lets nothing in but the credentials', false, {}],
  ])('%s', async (_, create, expected) => {
    const { send } = createTestService(config(create))
    const { status, body: answer } = await send('POST /auth/register', { body })
    expect(status).toBe(201)
    const { _id, email, createdAt, updatedAt, createdBy, ...others } = answer.user
    expect(others).toEqual(expected)
  })

  test('its check holds: what fails it is 403, and nothing is stored', async () => {
    const { send } = createTestService(config({ check: { email: { $regex: '@example\\.com$' } } }))
    const stranger = { ...body, email: 'ann@other.com' }
    expect((await send('POST /auth/register', { body: stranger })).status).toBe(403)
    const { email, password } = stranger
    expect((await send('POST /auth/login', { body: { email, password } })).status).toBe(401)
    expect((await send('POST /auth/register', { body })).status).toBe(201)
  })
})

test('an array in the role field is as many roles', async () => {
  const { send } = createTestService({
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true },
          password: { type: 'hash' },
          roles: { type: 'array', items: { type: 'string' } },
        },
        permissions: { '*': { create: { set: { roles: ['a', 'b'] } } } },
      },
      things: {
        schema: { x: { type: 'string' }, y: { type: 'string' }, z: { type: 'string' } },
        permissions: {
          '*': { create: true },
          a: { read: { pick: ['x'] } },
          b: { read: { pick: ['y'] } },
          c: { read: true },
        },
      },
    },
    auth: { roleField: 'roles' },
  })
  const credentials = { email: 'a@b.co', password: 'correct horse' }
  const { token } = (await send('POST /auth/register', { body: credentials })).body
  await send('POST /things', { body: { x: '1', y: '2', z: '3' } })
  const [{ _id, ...shown }] = (await send('GET /things', { token })).body
  expect(shown).toEqual({ x: '1', y: '2' })
})
