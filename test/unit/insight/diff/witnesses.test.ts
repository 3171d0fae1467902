import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type ServiceOptions } from '../../../../src/index.js'
import { comparePermissions, type InsightOptions, type Witness } from '../../../../src/insight/index.js'
import { createTestService } from '../../../support/service.js'

// CONTRACT.md §8, "Diff": the witness, run against both handlers, shows the difference

const text = { type: 'string' }
type Json = { readonly [name: string]: unknown }

/** A configuration with teams, their members, and documents of teams. */
const teams = (permissions: object, more: Json = {}): Json => ({
  collections: {
    teams: { schema: { name: { ...text, required: true }, open: { type: 'boolean' } }, permissions: {} },
    members: {
      schema: {
        user: { ...text, required: true, index: true },
        team: { type: 'reference', collection: 'teams', required: true },
        role: { ...text, enum: ['reader', 'admin'], required: true },
      },
      permissions: {},
    },
    docs: {
      schema: { title: text, team: { type: 'reference', collection: 'teams' } },
      permissions,
    },
    ...more,
  },
  auth: {
    claims: {
      teams: { from: 'members', where: { user: '$user._id' }, take: 'team' },
      adminOf: { from: 'members', where: { user: '$user._id', role: 'admin' }, take: 'team' },
      ofOrg: { from: 'members', where: { user: '$user.org' }, take: 'team' },
      open: { from: 'teams', where: { open: true }, take: '_id' },
      own: { from: 'docs', where: { createdBy: '$user._id' }, take: '_id' },
    },
  },
})

const within = (claim: string) => ({ where: { team: { $in: `$user.${claim}` } } })

const accounts = (permissions: object): Json => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, format: 'email' },
        password: { type: 'hash', required: true, minLength: 12 },
        bio: text,
      },
      permissions,
    },
  },
})

/** Whether claims stand among the caller's fields, for no documents give them. */
const hasClaims = ({ caller }: Witness): boolean => 'adminOf' in (caller ?? {}) || 'teams' in (caller ?? {})

const HOST: InsightOptions = { authenticate: true }

describe('the witness of each difference can be run', () => {
  test.each<[name: string, before: Json, after: Json, options?: InsightOptions]>([
    ['a claim', teams({ user: { read: true } }), teams({ user: { read: within('teams') } }), HOST],
    ['a claim for nobody before', teams({}), teams({ user: { read: within('adminOf') } }), HOST],
    [
      'two claims',
      teams({ user: { read: within('adminOf') } }),
      teams({ user: { read: within('teams') } }),
      HOST,
    ],
    ['a claim by a field of the caller', teams({}), teams({ user: { read: within('ofOrg') } }), HOST],
    ['a claim that all have', teams({}), teams({ '*': { read: within('open') } }), HOST],
    [
      'writes within a claim',
      teams({ user: { read: true, create: true, update: true, delete: true } }),
      teams({ user: { read: true, create: { check: within('teams').where }, update: within('adminOf') } }),
      HOST,
    ],
    ['an _id', teams({}), teams({ user: { read: { where: { _id: '$user._id' } } } }), HOST],
    ['a reference', teams({}), teams({ user: { read: { where: { team: '$user.team' } } } }), HOST],
    [
      'a reference that is there',
      teams({}),
      teams({ '*': { read: { where: { team: { $exists: true } } } } }),
    ],
    ['accounts', accounts({}), accounts({ user: { read: { omit: ['email'] } } }), {}],
    ['accounts of oneself', accounts({}), accounts({ user: { read: { where: { _id: '$user._id' } } } }), {}],
  ])('%s', async (_, before, after, options = HOST) => {
    const differences = comparePermissions(before, after, options)
    const found = differences.flatMap((one) => ('witness' in one && !hasClaims(one.witness) ? [one] : []))
    expect(found.length).toBeGreaterThan(0)
    for (const { witness, kind, operation, fields } of found) {
      const { caller, documents, request, now } = witness
      const answers = await Promise.all(
        [before, after].map(async (config) => {
          const host: ServiceOptions = options.authenticate ? { authenticate: () => null } : {}
          const service = createTestService(config, {
            ...{ ...host, adapter: createMemoryAdapter({ documents }), now: () => Date.parse(now) },
          })
          await service.handler.ready()
          const { method, path, body } = request
          const sent = await service.send(`${method} ${path}`, { caller, ...(body ? { body } : {}) })
          await service.handler.close()
          const { _id: id, ...shown } = sent.body ?? {}
          return {
            status: sent.status,
            shown: sent.status < 300 ? shown : {},
            ignored: sent.headers.get('ignored-properties'),
          }
        }),
      )
      const context = JSON.stringify({ kind, operation, fields, witness })
      expect(answers[0], context).not.toEqual(answers[1])
    }
  })
})

test('claims that no documents give stay fields of the caller', () => {
  const after = teams({ user: { read: { where: { _id: { $in: '$user.own' } } } } })
  const [difference] = comparePermissions(teams({}), after, HOST)
  expect(difference).toMatchObject({ witness: { caller: { own: [expect.any(String)] } } })
  const [admins, members] = ['adminOf', 'teams'].map((claim) => teams({ user: { read: within(claim) } }))
  const kinds = comparePermissions(admins, members, HOST).flatMap((one) =>
    'witness' in one && one.operation === 'read' ? [[one.kind, hasClaims(one.witness)]] : [],
  )
  expect(kinds).toEqual([
    ['widening', false],
    // Whoever is an admin is a member too.
    ['narrowing', true],
  ])
})
