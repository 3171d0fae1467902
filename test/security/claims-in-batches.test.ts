import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CLAIMED_BATCH_LAWS, id, membership, post, put, remove } from '../support/claimed-batches.js'
import { createTestService, type Sent } from '../support/service.js'
import { closeAfterEach, useAllStorages } from '../support/storages.js'

// CONTRACT.md §2, "Match": rights, hooks, and references that must match

const storages = useAllStorages()
const opened = closeAfterEach()

describe.each(storages)('in %s, rights that nobody has', (_, create) => {
  test.each(CLAIMED_BATCH_LAWS)('%s', async (_, check) => {
    await check((config, options) => {
      const service = createTestService(config, { ...options, adapter: create() })
      opened.push(service)
      return service
    })
  })
})

test('the teams of the example take no stranger for an admin', async () => {
  const teams = JSON.parse(readFileSync('examples/teams/config.json', 'utf8'))
  const { send, register } = createTestService(teams)
  const [olga, stranger] = [
    await register({ email: 'olga@example.com', password: 'correct horse' }),
    await register({ email: 'eve@example.com', password: 'correct horse' }),
  ]
  const [victim, mine] = [id(71), id(72)]
  const batchBy = (token: string, operations: readonly object[]): Promise<Sent> =>
    send('POST /_batch', { token, body: { operations } })
  const found = (token: string, team: string): Promise<Sent> =>
    batchBy(token, [
      put(`/teams/${team}`, { name: 'team' }),
      post('/memberships', { team, role: 'admin', name: 'founder' }),
    ])
  expect((await found(olga.token, victim)).status).toBe(200)
  expect((await found(stranger.token, mine)).status).toBe(200)
  const invite = (team: string) => ({ team, email: 'eve@example.com', role: 'admin' })
  const { body: invitation } = await send('POST /invitations', { token: stranger.token, body: invite(mine) })
  const entry = { team: victim, role: 'admin', name: 'Eve', invitation: invitation._id }
  const operations = [put(membership, entry), post('/invitations', invite(victim)), remove(membership)]
  expect(await batchBy(stranger.token, operations)).toMatchObject({ status: 400, body: { operation: 0 } })
})
