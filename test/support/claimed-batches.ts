import { expect } from 'vitest'
import type { HookChange, OptionsFor } from '../../src/index.js'
import type { AnyConfig, Sent, TestService } from './service.js'

/**
 * Rights and hooks in a batch whose references do not match (CONTRACT.md §2, "Match"), whatever the storage. Mutants
 * have to break one of these.
 */

const text = { type: 'string' } as const
const refer = (collection: string, more: object = {}) =>
  ({ type: 'reference', collection, required: true, onDelete: 'cascade', ...more }) as const
const own = { where: { to: '$user._id' } } as const

/** Whoever holds an invitation of a team may join it; members read and write its secrets. Everyone may change memberships. */
const CLAIMED_CONFIG = {
  collections: {
    teams: { schema: { name: text }, permissions: { user: { read: true } } },
    grants: {
      schema: { team: refer('teams'), to: text },
      permissions: { user: { read: own, create: { set: { to: '$user._id' } }, delete: own } },
    },
    invitations: {
      schema: {
        team: refer('teams'),
        to: { ...text, index: true },
        grant: { ...refer('grants', { match: { team: 'team' } }), required: false },
      },
      permissions: {
        user: {
          read: own,
          update: own,
          create: { check: { to: '$user._id', grant: { $exists: true } } },
          delete: own,
        },
      },
    },
    memberships: {
      schema: {
        user: { ...text, index: true },
        team: refer('teams'),
        invitation: refer('invitations', { match: { team: 'team' } }),
      },
      permissions: {
        user: {
          create: { set: { user: '$user._id' } },
          read: true,
          update: { pick: ['team', 'invitation'] },
          delete: { where: { user: '$user._id' } },
        },
      },
    },
    secrets: {
      schema: { team: refer('teams'), text },
      permissions: {
        user: {
          read: { where: { team: { $in: '$user.teams' } } },
          update: { where: { team: { $in: '$user.teams' } } },
        },
      },
    },
  },
  auth: { claims: { teams: { from: 'memberships', where: { user: '$user._id' }, take: 'team' } } },
} as const

export const id = (n: number): string => `01930000-0000-7000-8000-0000000000${n}`
const [OWN, FOREIGN, INVITATION, SECRET, MEMBERSHIP, OTHER] = [10, 11, 20, 30, 40, 50].map(id) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const eve = { id: 'eve' }

export const post = (path: string, body: object) => ({ method: 'POST', path, body })
export const put = (path: string, body: object) => ({ method: 'PUT', path, ifNoneMatch: '*', body })
const patch = (path: string, body: object) => ({ method: 'PATCH', path, body })
export const remove = (path: string) => ({ method: 'DELETE', path })

export const membership = `/memberships/${MEMBERSHIP}`
const ofZoe = `/memberships/${id(41)}`
const joining = put(membership, { team: FOREIGN, invitation: INVITATION })
const using = [{ method: 'GET', path: `/secrets/${SECRET}` }, patch(`/secrets/${SECRET}`, { text: 'mine' })]

const store = (service: TestService, { path, body }: ReturnType<typeof put>): Promise<Sent> =>
  service.send(`PUT ${path}`, { system: {}, body, headers: { 'if-none-match': '*' } })

type Open = (config: AnyConfig, options: OptionsFor<unknown>) => TestService

/** Opens a service whose storage has the documents of the laws. */
async function begin(open: Open, isMember: boolean, hooks: object = {}): Promise<TestService> {
  const service = open(CLAIMED_CONFIG as AnyConfig, { authenticate: () => null, hooks } as never)
  for (const operation of [
    put(`/teams/${OWN}`, { name: 'own' }),
    put(`/teams/${FOREIGN}`, { name: 'foreign' }),
    put(`/invitations/${INVITATION}`, { team: OWN, to: 'eve' }),
    put(`/secrets/${SECRET}`, { team: FOREIGN, text: 'zeta' }),
    ...(isMember ? [put(membership, { user: 'eve', team: OWN, invitation: INVITATION })] : []),
  ])
    await store(service, operation)
  return service
}
const batch = (service: TestService, operations: readonly object[]): Promise<Sent> =>
  service.send('POST /_batch', { caller: eve, body: { operations } })
const refused = (operation: number, path: string) => ({
  status: 400,
  body: {
    operation,
    errors: [{ path: `/operations/${operation}/body/${path}`, code: 'unknown_reference' }],
  },
})

type Law = readonly [what: string, check: (open: Open) => Promise<void>]

const CASES: readonly (readonly [what: string, isMember: boolean, operations: readonly object[]])[] = [
  ['stays', false, [joining, ...using]],
  ['is removed again', false, [joining, ...using, remove(membership)]],
  ['is removed with its invitation', false, [joining, ...using, remove(`/invitations/${INVITATION}`)]],
  ['is put right again', false, [joining, ...using, patch(membership, { team: OWN })]],
  [
    'was right before',
    true,
    [patch(membership, { team: FOREIGN }), ...using, patch(membership, { team: OWN })],
  ],
]

const refusing = ([what, isMember, operations]: (typeof CASES)[number]): Law => [
  `are not given by a membership without an invitation that ${what}`,
  async (open) => {
    const service = await begin(open, isMember)
    const answer = await batch(service, operations)
    expect(answer).toMatchObject(refused(0, 'invitation'))
    expect(answer.text).not.toContain('zeta')
    expect((await service.send(`GET /secrets/${SECRET}`, { system: {} })).body.text).toBe('zeta')
    expect((await service.send('GET /memberships/count', { system: {} })).body.total).toBe(isMember ? 1 : 0)
  },
]

export const CLAIMED_BATCH_LAWS: readonly Law[] = [
  ...CASES.map(refusing),
  [
    'are not given by an invitation whose own reference does not match, either',
    async (open) => {
      const service = await begin(open, false)
      const grant = `/grants/${id(60)}`
      await store(service, put(grant, { team: OWN, to: 'eve' }))
      const forged = put(`/invitations/${OTHER}`, { team: FOREIGN, to: 'eve', grant: id(60) })
      const joined = put(membership, { team: FOREIGN, invitation: OTHER })
      const operations = [forged, joined, ...using, remove(membership), remove(`/invitations/${OTHER}`)]
      const answer = await batch(service, operations)
      expect(answer).toMatchObject(refused(0, 'grant'))
      expect(answer.text).not.toContain('zeta')
    },
  ],
  [
    'do not reach a hook',
    async (open) => {
      const asked: unknown[] = []
      const before = ({ operation, after }: HookChange): void => void asked.push([operation, after?.team])
      const service = await begin(open, false, { memberships: { before } })
      expect(await batch(service, [joining, remove(membership)])).toMatchObject(refused(0, 'invitation'))
      expect(asked).toEqual([])
    },
  ],
  [
    'do not reach a hook of another collection',
    async (open) => {
      const asked: unknown[] = []
      const before = ({ operation }: HookChange): void => void asked.push(operation)
      const service = await begin(open, true, { grants: { before } })
      const grant = post('/grants', { team: OWN })
      const forged = patch(`/invitations/${INVITATION}`, { team: FOREIGN })
      const operations = [forged, grant, patch(`/invitations/${INVITATION}`, { team: OWN })]
      expect(await batch(service, operations)).toMatchObject({
        status: 409,
        body: { operation: 0, code: 'reference_in_use' },
      })
      expect(asked).toEqual([])
    },
  ],
  [
    'are not what a caller has, who changes the membership of another and then its invitation',
    async (open) => {
      const service = await begin(open, true)
      await store(service, put(`/invitations/${OTHER}`, { team: OWN, to: 'eve' }))
      await store(service, put(ofZoe, { user: 'zoe', team: OWN, invitation: OTHER }))
      const both = [patch(ofZoe, { team: FOREIGN }), patch(`/invitations/${OTHER}`, { team: FOREIGN })]
      const [first, ...rest] = both as [object, object]
      expect(await batch(service, [first, ...using, ...rest])).toMatchObject({
        status: 404,
        body: { operation: 1 },
      })
      expect((await batch(service, both)).status).toBe(200)
    },
  ],
  [
    'are given by a membership with its invitation, which both may change together',
    async (open) => {
      const service = await begin(open, true)
      await service.send(`PATCH /invitations/${INVITATION}`, { system: {}, body: { to: 'eve' } })
      const moved = [
        patch(`/invitations/${INVITATION}`, { team: FOREIGN }),
        patch(membership, { team: FOREIGN }),
      ]
      expect((await batch(service, moved)).status).toBe(200)
      expect((await batch(service, using)).body.results[0].body.text).toBe('zeta')
    },
  ],
]
