import { expect, test } from 'vitest'
import { createMemoryAdapter } from '../../../../../src/index.js'
import { comparePermissions, type PermissionDifference } from '../../../../../src/tools/insight/index.js'
import { createTestService } from '../../../../support/service.js'

// CONTRACT.md §8, "Diff": rules are run as requests run them

type Json = { readonly [name: string]: unknown }

const text = { type: 'string' }

const notes = (schema: object, update: unknown): Json => ({
  collections: { notes: { schema, permissions: { '*': { read: true }, god: true, editor: { update } } } },
})

/** How both configurations answer a witness. */
const answersTo = (pair: readonly Json[], { witness }: PermissionDifference): Promise<readonly number[]> =>
  Promise.all(
    pair.map(async (config) => {
      const { caller, documents, request, now } = witness
      const { handler, send } = createTestService(config, {
        adapter: createMemoryAdapter({ documents: documents as never }),
        authenticate: () => null,
        now: () => Date.parse(now),
      })
      const { status } = await send(`${request.method} ${request.path}`, {
        ...(request.body ? { body: request.body } : {}),
        caller,
      })
      await handler.close()
      return status
    }),
  )

const list = { type: 'array', items: text }
const inner = { type: 'object', properties: { x: { ...text, lowercase: true }, y: { type: 'integer' } } }

test.each<[what: string, schema: object, update: object]>([
  [
    'an immutable list to the list that is stored',
    { l: { ...list, immutable: true }, b: text },
    { pick: ['b'], set: { l: ['$user.team'] } },
  ],
  [
    'an immutable value to the value that is stored',
    { a: { ...text, immutable: true, lowercase: true }, b: text },
    { pick: ['b'], set: { a: 'AB' } },
  ],
  [
    'two values of the caller inside an object',
    { o: inner, b: text },
    { pick: ['b'], set: { o: { x: '$user.team', y: '$user.level' } }, check: { 'o.x': 'ab', 'o.y': 3 } },
  ],
  [
    'a value of the caller that is normalised',
    { a: { ...text, lowercase: true }, b: text },
    { pick: ['b'], set: { a: '$user.team' }, check: { a: 'ab' } },
  ],
])('a rule may set %s', async (_, schema, update) => {
  const pair = [notes(schema, false), notes(schema, update)]
  const found = comparePermissions(pair[0], pair[1], { authenticate: true })
  const widened = found.flatMap((one) => ('witness' in one && one.kind === 'widening' ? [one] : []))
  expect(widened.map(({ operation }) => operation)).toEqual(['patch', 'put'])
  for (const one of widened) {
    const [was = 0, is = 0] = await answersTo(pair, one)
    expect([was, is < 300]).toEqual([403, true])
  }
})

test('what "*" may create in users is no right to create if accounts must be verified', () => {
  const accounts = (create: object): Json => ({
    collections: {
      users: {
        schema: {
          email: { ...text, unique: true, required: true },
          password: { type: 'hash', required: true },
          name: text,
          seen: { type: 'timestamp' },
        },
        permissions: { '*': { create } },
      },
    },
    auth: { verifiedField: 'seen', requireVerified: true },
  })
  const found = comparePermissions(accounts({ pick: ['name'] }), accounts({ pick: [] }))
  expect(found.filter((one) => 'operation' in one)).toEqual([])
})
