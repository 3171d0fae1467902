import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { printTypes } from '../../src/tools/cli/commands/print-types.js'
import {
  checkConfig,
  comparePermissions,
  describeApi,
  explainRequest,
  permissionMatrix,
} from '../../src/tools/insight/index.js'
import { told } from '../support/event-streams.js'
import { createTestService } from '../support/service.js'
import { checkRulesCase, rulesCases } from '../support/several-rules.js'
import { useStreams } from './support/changes.js'
import { ALL, ann, as, configOf, documents, faultPaths, ID, serve, titles } from './support/permissions.js'

// CONTRACT.md §5, "Several rules of one subject"

const stream = useStreams()

test.each(rulesCases)('$rule', (one) => checkRulesCase(one))

describe('lists', () => {
  const read = [
    { where: { status: 'published' }, pick: ['title', 'status'] },
    { where: { views: { $gte: 4 } }, pick: ['title', 'views'] },
  ]

  test('have the documents of all rules, and sort by what each of them shows', async () => {
    const service = serve({ user: { read } })
    expect(await titles(service, ann)).toEqual(['public', 'own public', 'foreign'])
    const sent = async (query: string) => (await service.send(`GET /items?${query}`, { caller: ann })).status
    expect(await sent('sort[title]=1')).toBe(200)
    expect(await sent('sort[views]=1')).toBe(400)
    expect(await sent('q[secret]="s4"')).toBe(400)
    // In what a rule does not show, a filter finds nothing.
    expect(await service.list('/items?q[views][$gte]=1', 'title', { caller: ann })).toEqual(['foreign'])
    expect((await service.send('GET /items/count', { caller: ann })).body).toEqual({ total: 3 })
  })

  test('of two callers with different rules have nothing in common but what both may read', async () => {
    const service = serve({
      editor: { read },
      '*': { read: [{ where: { status: 'draft' }, pick: ['title'] }] },
    })
    expect(await titles(service, as('editor'))).toEqual(ALL)
    expect(await titles(service, null)).toEqual(['own', 'foreign'])
    const { text } = await service.send('GET /items')
    expect(text).not.toMatch(/status|views/)
  })

  test('a stream tells of a document that changes from one rule to another', async () => {
    const changing = configOf({ user: { read }, admin: true }, { changes: true })
    const { open, write } = await stream({ adapter: createMemoryAdapter({ documents }), config: changing })
    const opened = await open('/items/changes', { caller: ann })
    await write(`PATCH /items/${ID(1)}`, { status: 'draft', views: 5 })
    await write(`PATCH /items/${ID(1)}`, { secret: 'unseen' })
    await write(`PATCH /items/${ID(1)}`, { views: 0 })
    expect(told(await opened.until(3))).toEqual([
      ['reset', {}],
      ['change', { _id: ID(1), title: 'public', views: 5 }],
      ['leave', { _id: ID(1) }],
    ])
  })
})

test('a hook is asked once, about the rule that runs', async () => {
  const asked: unknown[] = []
  const { send } = createTestService(
    configOf({
      '*': { read: true },
      user: { create: [{ check: { title: 'x' } }, { set: { status: 'second' } }] },
    }),
    {
      hooks: {
        items: {
          before(change: { readonly after: { readonly status?: unknown } | null }) {
            asked.push(change.after?.status)
          },
        },
      } as never,
    },
  )
  const { status } = await send('POST /items', { caller: ann, body: { title: 'y' } })
  expect([status, asked]).toEqual([201, ['second']])
})

describe('a ConfigError', () => {
  const rules = (update: unknown) => ({ user: { update } })
  test.each<[what: string, permissions: { [subject: string]: unknown }, paths: readonly string[]]>([
    ['an empty array', rules([]), ['/user/update']],
    ['true in an array', rules([true]), ['/user/update/0']],
    ['false in an array', rules([{}, false]), ['/user/update/1']],
    ['an array in an array', rules([[{}]]), ['/user/update/0']],
    ['17 rules', rules(Array.from({ length: 17 }, () => ({}))), ['/user/update']],
    ['an array instead of a grant', { user: [{}] }, ['/user']],
    ['an unknown part', rules([{}, { wher: {} }]), ['/user/update/1/wher']],
    ['an unknown field', rules([{ pick: ['titel'] }]), ['/user/update/0/pick/0']],
    ['a condition on an unknown field', rules([{}, { where: { stat: 'x' } }]), ['/user/update/1/where/stat']],
    ['where of a create', { user: { create: [{ where: {} }] } }, ['/user/create/0/where']],
    ['create of owner', { owner: { create: [{}] } }, ['/owner/create/0']],
    ['16 rules', rules(Array.from({ length: 16 }, () => ({}))), []],
  ])('%s', (_, permissions, paths) => {
    expect(faultPaths(configOf(permissions))).toEqual(paths)
  })

  test('the nearest names are in the message', () => {
    const message = (permissions: object): string => {
      try {
        createTestService(configOf(permissions as never))
      } catch (thrown) {
        return String(thrown)
      }
      return ''
    }
    expect(message(rules([{ wher: {} }]))).toContain('did you mean "where"?')
    expect(message(rules([{ pick: ['titel'] }]))).toContain('did you mean "title"?')
    expect(message({ user: [{}] })).toContain('several rules belong to one operation')
  })

  const users = (create: unknown) => ({
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, lowercase: true },
          password: { type: 'hash' },
        },
        permissions: { '*': { create } },
      },
    },
  })

  test('an array for registrations, where the service keeps the accounts', () => {
    const paths = ['/collections/users/permissions/*/create']
    expect(faultPaths(users([{ pick: [] }]))).toEqual(paths)
    expect(faultPaths(users({ pick: [] }))).toEqual([])
    expect(() => createTestService(users([{ pick: [] }]), { authenticate: () => null })).not.toThrow()
  })

  test('rules for everyone that leave nothing out are an open door', () => {
    const every = [{ where: { title: { $exists: true } } }, { where: { title: { $exists: false } } }]
    const open = {
      '*': { create: [{}], read: every, update: [{ where: { title: 'x' } }, {}], delete: every },
    }
    expect(faultPaths(configOf(open), true)).toEqual(['/*'])
    const closed = { '*': { ...open['*'], delete: every.slice(1) } }
    expect(faultPaths(configOf(closed), true)).toEqual([])
  })
})

describe('the tools', () => {
  const permissions = {
    '*': { read: true },
    user: {
      update: [
        {
          where: { status: 'open' },
          check: { status: { $in: ['open', 'done'] } },
          pick: ['title', 'status'],
        },
        { where: { status: 'done' }, pick: ['secret'] },
      ],
    },
  }
  const config = configOf(permissions)
  const open = { _id: ID(1), title: 'one', status: 'open', createdBy: null }
  const request = { caller: ann, method: 'PATCH', path: `/items/${ID(1)}`, documents: { items: [open] } }

  test('explain has an entry for each rule, with its place', async () => {
    const { judgements } = await explainRequest(
      config,
      { ...request, body: { status: 'x' } },
      { authenticate: true },
    )
    const entries = judgements.at(-1)?.rules.map(({ pointer, verdict }) => [pointer, verdict])
    expect(entries?.slice(0, 2)).toEqual([
      ['/collections/items/permissions/user/update/0', 'check'],
      ['/collections/items/permissions/user/update/1', 'where'],
    ])
  })

  test('its suggestion widens the first rule that was tried, at its place', async () => {
    const asked = { ...request, body: { status: 'x' } }
    const { suggestion } = await explainRequest(config, asked, { authenticate: true })
    const [first, second] = permissions.user.update
    expect(suggestion?.rules).toEqual({
      update: [{ ...first, check: { $or: [first?.check, { status: 'x' }] } }, second],
    })
    const later = { items: [{ ...open, status: 'done' }] }
    const other = await explainRequest(
      configOf({ ...permissions, user: { update: [first, { ...second, check: { secret: 'x' } }] } }),
      { ...request, documents: later, body: { secret: 'y' } },
      { authenticate: true },
    )
    expect(other.suggestion?.rules).toEqual({
      update: [first, { ...second, check: { $or: [{ secret: 'x' }, { secret: 'y' }] } }],
    })
  })

  test('a rule of several roles that keeps nothing is idle, and the 65th is beyond', async () => {
    const idle = configOf({
      '*': { read: true },
      user: { update: [{ check: { title: 'x' } }, { pick: ['views'] }] },
    })
    const { judgements } = await explainRequest(
      idle,
      { ...request, body: { title: 'y' } },
      { authenticate: true },
    )
    expect(
      judgements
        .at(-1)
        ?.rules.slice(0, 2)
        .map(({ verdict }) => verdict),
    ).toEqual(['check', 'idle'])
    const sixteen = Array.from({ length: 16 }, () => ({ where: { title: 'never' } }))
    const roles = ['a', 'b', 'c', 'd', 'e']
    const many = configOf({
      '*': { read: true },
      ...Object.fromEntries(roles.map((role) => [role, { update: sixteen }])),
    })
    const asked = { ...request, caller: { id: 'max', roles }, body: { title: 'y' } }
    const said = await explainRequest(many, asked, { authenticate: true })
    const verdicts = said.judgements.at(-1)?.rules.map(({ verdict }) => verdict) ?? []
    expect([verdicts[63], verdicts[64]]).toEqual(['where', 'beyond'])
    expect(checkConfig(many, { authenticate: true })).toContainEqual(
      expect.objectContaining({ code: 'untried_rules', pointer: '/collections/items/permissions' }),
    )
  })

  test('check finds rules that never decide', () => {
    const found = (own: object): readonly string[] =>
      checkConfig(configOf({ '*': { read: true }, clerk: own }), { authenticate: true })
        .filter(({ code }) => code === 'never_runs')
        .map(({ pointer }) => pointer.replace('/collections/items/permissions/clerk', ''))
    const where = { status: 'open' }
    expect(found({ read: [{ where, pick: ['title'] }, { where }] })).toEqual(['/read/0'])
    expect(found({ read: [{ where }, { where }] })).toEqual(['/read/1'])
    expect(
      found({
        read: [
          { where, pick: ['title'] },
          { where, pick: ['views'] },
        ],
      }),
    ).toEqual([])
    expect(found({ update: [{ pick: ['title'] }, { where, pick: ['title'], check: {} }] })).toEqual([
      '/update/1',
    ])
    expect(found({ update: [{ where, pick: ['title'] }, { pick: ['title'] }] })).toEqual([])
    expect(
      found({
        update: [
          { where, pick: ['title'] },
          { where, pick: ['views'] },
        ],
      }),
    ).toEqual([])
    expect(found({ delete: [{}, { where }] })).toEqual(['/delete/1'])
    expect(found({ delete: [{ where }, {}] })).toEqual([])
  })

  test('diff knows that a rule which keeps nothing does not run after a refusal', () => {
    const first = { check: { title: 'x' } }
    const patches = (update: readonly object[]): readonly unknown[] =>
      comparePermissions(
        configOf({ '*': { read: true }, user: { update: [first] } }),
        configOf({ '*': { read: true }, user: { update: [first, ...update] } }),
        { authenticate: true },
      ).filter((one) => 'operation' in one && one.operation === 'patch')
    expect(patches([{ pick: [] }])).toEqual([])
    expect(patches([{ pick: ['views'] }])).not.toEqual([])
  })

  test('matrix, diff, OpenAPI and types know each rule', () => {
    const [items] = permissionMatrix(config, { authenticate: true }).collections
    const user = items?.callers.find(({ caller, isOwner }) => caller.kind === 'user' && !isOwner)
    expect(user?.update.map(({ pointers, fields }) => [pointers, fields])).toEqual([
      [['/collections/items/permissions/user/update/0'], { kind: 'only', names: ['title', 'status'] }],
      [['/collections/items/permissions/user/update/1'], { kind: 'only', names: ['secret'] }],
    ])
    const one = configOf({ ...permissions, user: { update: permissions.user.update.slice(0, 1) } })
    const kinds = comparePermissions(one, config, { authenticate: true }).map(({ kind }) => kind)
    expect(new Set(kinds)).toEqual(new Set(['widening']))
    const { components } = describeApi(config, { authenticate: true, caller: ann })
    expect(Object.keys(Object(components.schemas?.['items.patch']?.properties))).toEqual([
      'title',
      'status',
      'secret',
    ])
    const schema = { title: { type: 'string', required: true }, status: { type: 'string', required: true } }
    const printed = printTypes({
      collections: {
        items: { schema, permissions: { user: { create: [{ set: { title: 'x' } }, { pick: ['title'] }] } } },
      },
    } as never)
    expect(printed).toMatch(/ItemsCreateBody \{[^}]*title\?: string[^}]*status: string/s)
  })
})
