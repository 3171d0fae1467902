import { expect, test, vi } from 'vitest'
import { type CollectionHooks, type HookChange, refuse } from '../../../../src/index.js'
import { explainRequest } from '../../../../src/tools/insight/index.js'
import { type ExpectOptions, expectAllowed, expectDenied } from '../../../../src/tools/testing/index.js'

// CONTRACT.md §8, "Permissions as unit tests" and "Explain"

const ONE = '01890163-8694-7000-8000-000000000001'
const TWO = '01890163-8694-7000-8000-000000000002'

const config = {
  collections: {
    tickets: {
      schema: {
        title: { type: 'string', required: true },
        number: { type: 'integer', required: true, unique: true },
      },
      permissions: {
        user: {
          read: { where: { title: { $ne: 'hidden' } } },
          create: { pick: ['title'] },
          update: { pick: ['title'] },
        },
      },
    },
    log: { schema: { what: { type: 'string' } }, permissions: { user: { read: true } } },
  },
} as const

/** Numbers tickets by what its caller reads, and logs them. */
const numbering: CollectionHooks<typeof config, 'tickets', 'number'> = {
  fills: ['number'],
  async before({ operation, after, api }) {
    if (operation !== 'create') return undefined
    if (after.title === 'closed') throw refuse(403, 'There are enough.')
    if (after.title === 'later') throw refuse(409, 'Not now.')
    const ask = async (path: string) => (await api(new Request(`http://localhost${path}`))).json()
    await ask(`/tickets/${ONE}`)
    const number = (await ask('/log')).length + 2
    const also = [{ method: 'POST', path: '/log', body: { what: after.title } }] as const
    return { set: { number }, also }
  },
}

const ann = { id: 'ann' }
const common: ExpectOptions = {
  authenticate: true,
  hooks: { tickets: numbering },
  documents: {
    tickets: [
      { _id: ONE, title: 'one', number: 1 },
      { _id: TWO, title: 'hidden', number: 100 },
    ],
  },
}
const create = (title: unknown): ExpectOptions => ({ ...common, body: { title } })

test('a create that a hook completes is allowed', async () => {
  const { status, body } = await expectAllowed(config, ann, 'POST', '/tickets', create('two'))
  expect([status, body]).toMatchObject([201, { title: 'two', number: 2 }])
  const bulk = { ...common, body: { documents: [{ title: 'two' }, { title: 'three' }] } }
  expect((await expectAllowed(config, ann, 'POST', '/tickets/bulk', bulk)).body).toMatchObject({
    documents: [{ number: 2 }, { number: 3 }],
  })
})

test('a hook that fills may be one of many types', async () => {
  const loose = { before: ({ after }: HookChange) => ({ set: { number: Number(after?.title) } }) }
  const hooks = { tickets: { fills: ['number'], ...loose } }
  const { body } = await expectAllowed(config, ann, 'POST', '/tickets', { ...create('7'), hooks })
  expect(body).toMatchObject({ number: 7 })
})

test.each<readonly [title: string, expecting: typeof expectAllowed | null]>([
  ['two', expectAllowed],
  ['closed', expectDenied],
  ['later', null],
])('%s is what its hook makes of it', async (title, expecting) => {
  for (const one of [expectAllowed, expectDenied]) {
    const asked = one(config, ann, 'POST', '/tickets', create(title))
    if (one === expecting) await asked
    else await expect(asked).rejects.toThrow('Expected: ')
  }
})

test('without its hook, or with one that fills nothing, no such create is allowed', async () => {
  const { hooks, ...others } = create('two')
  await expect(expectAllowed(config, ann, 'POST', '/tickets', others)).rejects.toThrow('required')
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const idle = { tickets: { fills: ['number'], before: () => undefined } }
  await expect(expectAllowed(config, ann, 'POST', '/tickets', { ...others, hooks: idle })).rejects.toThrow(
    '500',
  )
  // What is wrong is told where a service would log it.
  expect(JSON.stringify(logged.mock.calls.map(String))).toContain('request failed')
  logged.mockRestore()
})

test('of hooks that are wrong nothing is asked', async () => {
  for (const hooks of [
    { tickets: { fills: ['title', 'numbr'], before() {} } },
    { tickets: {} },
    [],
    { notes: numbering },
  ])
    for (const expecting of [expectAllowed, expectDenied])
      await expect(
        expecting(config, ann, 'POST', '/tickets', { ...create('two'), hooks: hooks as never }),
      ).rejects.toMatchObject({ code: 'invalid_config' })
})

test('what a hook reads and adds is not among what was judged', async () => {
  const operations = [
    { method: 'POST', path: '/tickets', body: { title: 'two' } },
    { method: 'POST', path: '/tickets', body: { title: 'three' } },
    { method: 'PATCH', path: `/tickets/${ONE}`, body: { title: 'first' } },
    { method: 'GET', path: `/tickets/${TWO}` },
  ]
  const judged = async (more: readonly object[], path = '/_batch') => {
    const { authenticate, hooks, documents } = common
    let number = 1
    const silent = { tickets: { fills: ['number'], before: () => ({ set: { number: ++number } }) } }
    const runs = [hooks, silent].map((own) =>
      explainRequest(
        config,
        {
          caller: ann,
          method: 'POST',
          path,
          body: { operations: more },
          ...(documents ? { documents } : {}),
        },
        { ...(authenticate ? { authenticate } : {}), ...(own ? { hooks: own as never } : {}) },
      ),
    )
    return Promise.all(runs)
  }
  const [one, other] = await judged(operations)
  expect(one?.judgements.map(({ operation, place }) => `${operation} ${place}`)).toEqual([
    'create /operations/0',
    'create /operations/1',
    'read /operations/2',
    'update /operations/2',
    'read /operations/3',
  ])
  expect(one?.judgements.map(({ rules }) => rules)).toEqual(other?.judgements.map(({ rules }) => rules))
  expect(one?.missing).toEqual({ operation: 'read', collection: 'tickets', document: TWO })
})
