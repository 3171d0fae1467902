import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §1, "Mail addresses"; RFC 6531, RFC 8265

const opened = closeAfterEach()

const email = { type: 'string', format: 'email', lowercase: true, unique: true, required: true } as const
const config = {
  collections: {
    users: {
      schema: { email, password: { type: 'hash', required: true } },
      permissions: { '*': { read: true, create: true, update: true } },
    },
  },
} as const

describe.each(useStorages())('in %s, an address with letters outside ASCII', (_, create) => {
  const open = () => {
    const service = createTestService(config, { adapter: create() })
    opened.push(service)
    return service.send
  }
  const password = 'secret'

  test('is one account, whatever its case, and is found by it', async () => {
    const send = open()
    const at = (line: string, email: string) => send(line, { body: { email, password } })
    expect((await at('POST /auth/register', 'M\u00dcLLER@Example.de')).status).toBe(201)
    expect((await at('POST /auth/register', 'm\u00fcller@example.de')).body.code).toBe('unique_violation')
    expect((await at('POST /auth/login', 'M\u00fcller@example.de')).status).toBe(200)
    const found = await send('GET /users?q[email]=M\u00dcller@example.DE')
    expect(found.body).toMatchObject([{ email: 'm\u00fcller@example.de' }])
  })

  test('that is not composed is refused', async () => {
    const sent = await open()('POST /auth/register', { body: { email: 'mu\u0308ller@example.de', password } })
    expect([sent.status, faultsOf(sent)]).toEqual([400, { '/email': 'wrong_format' }])
  })
})
