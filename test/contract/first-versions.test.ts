import { expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §2, "Concurrency"

/** However a document is made, it begins in a version that no other document under its `_id` has had. */

const permissions = { '*': true } as const

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions,
    },
    things: { schema: { n: { type: 'integer' } }, permissions },
  },
}

test('documents of every origin begin in a random version', async () => {
  const adapter = createMemoryAdapter({ documents: { things: [{ n: 1 }, { n: 2 }] } })
  const { send } = createTestService(config, { adapter })
  const account = { email: 'ann@example.com', password: 'longenough1' }
  const bulk = { documents: [{ n: 4 }, { n: 5 }] }
  for (const [path, body] of [
    ['/things', { n: 3 }],
    ['/things/bulk', bulk],
    ['/users', { ...account, email: 'bob@example.com' }],
    ['/auth/register', account],
    ['/auth/login', account],
  ] as const)
    expect((await send(`POST ${path}`, { body })).status).toBeLessThan(300)
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  const names = ['things', 'users', '_sessions']
  const stored = await Promise.all(names.map((name) => adapter.list(name, query)))
  expect(stored.map(({ length }) => length)).toEqual([5, 2, 2])
  const versions = stored.flat().map(({ _version }) => _version)
  expect(versions.every((version) => Number.isInteger(version) && version > 0 && version < 2 ** 52)).toBe(
    true,
  )
  expect(new Set(versions).size).toBe(9)
})
