import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { HookChange, StorageAdapter } from '../../src/index.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages, useStorages } from '../support/storages.js'

// CONTRACT.md §2, "Concurrency": a hook numbers documents under a unique index, and moves a counter in the same step

const MANY = 25

/** So many of those that open several tickets each. */
const FEW = 8

const storages = useStorages()
const lasting = useLastingStorages()
const opened = closeAfterEach()

const permissions = { '*': { read: true, create: true, update: true, delete: true } } as const
const integer = { type: 'integer' } as const
const collections = {
  companies: { schema: { last: { type: 'integer', default: 0 } }, permissions },
  counters: { schema: { last: integer }, permissions },
  tickets: {
    schema: {
      company: { type: 'reference', collection: 'companies', onDelete: 'cascade' },
      number: integer,
      isOpen: { type: 'boolean' },
    },
    indexes: [{ fields: ['company', 'number'], unique: true }],
    permissions,
  },
} as const

/** Requests wait for each other: on a slow machine longer than by default. */
const config = { collections, limits: { requestSeconds: 60 } }

type Count = (read: (path: string) => Promise<Response>, company: unknown) => Promise<Counted>

/** The number that comes next, and the operation that moves the counter. */
interface Counted {
  readonly number: number
  readonly counting: object
}

/** Counts in the company. */
const inCompany: Count = async (read, company) => {
  const path = `/companies/${company}`
  const number = (await (await read(path)).json()).last + 1
  return { number, counting: { method: 'PATCH', path, body: { last: number } } }
}

/** Counts in a document of its own, which the first ticket creates. */
const asideOf: Count = async (read, company) => {
  const path = `/counters/${company}`
  const found = await read(path)
  const number = found.status === 404 ? 1 : (await found.json()).last + 1
  const body = { last: number }
  const counting =
    found.status === 404 ? { method: 'PUT', path, ifNoneMatch: '*', body } : { method: 'PATCH', path, body }
  return { number, counting }
}

/** A ticket gets its number when it is opened. */
const numbering = (count: Count) => ({
  tickets: {
    async before({ after, api }: HookChange): Promise<unknown> {
      if (after?.isOpen !== true || after.number !== undefined) return undefined
      const read = (path: string): Promise<Response> => api(new Request(`http://a.test${path}`))
      const { number, counting } = await count(read, after.company)
      return { set: { number }, also: [counting] }
    },
  },
})

function open(adapter: StorageAdapter, count: Count = inCompany): TestService {
  const service = createTestService(config, { adapter, hooks: numbering(count) as never })
  opened.push(service)
  return service
}

const create = async ({ send }: TestService, path: string, body: object = {}): Promise<string> =>
  (await send(`POST ${path}`, { body })).body._id

const statusesOf = (answers: readonly Sent[]): readonly number[] => [
  ...new Set(answers.map(({ status }) => status)),
]

async function numbersOf({ send }: TestService, company: string): Promise<readonly number[]> {
  const { body } = await send(`GET /tickets?q[company]=${company}`)
  return body.map(({ number }: { number: number }) => number).sort((a: number, b: number) => a - b)
}

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, i) => i + 1)

/** Opens some tickets of a company by one request. */
type Opening = (service: TestService, company: string) => Promise<Sent>

const isOpen = true
const batch = ({ send }: TestService, operations: readonly object[]): Promise<Sent> =>
  send('POST /_batch', { body: { operations } })

const OPENINGS: readonly (readonly [what: string, ok: number, each: number, run: Opening])[] = [
  ['a create', 201, 1, ({ send }, company) => send('POST /tickets', { body: { company, isOpen } })],
  [
    'a PUT that creates',
    201,
    1,
    ({ send }, company) =>
      send(`PUT /tickets/${randomUUID()}`, {
        body: { company, isOpen },
        headers: { 'if-none-match': '*' },
      }),
  ],
  [
    'a bulk',
    201,
    3,
    ({ send }, company) =>
      send('POST /tickets/bulk', { body: { documents: Array(3).fill({ company, isOpen }) } }),
  ],
  [
    'a batch',
    200,
    2,
    (service, company) =>
      batch(service, Array(2).fill({ method: 'POST', path: '/tickets', body: { company, isOpen } })),
  ],
]

/** The same of tickets that were there before. */
const UPDATES: typeof OPENINGS = [
  [
    'a PATCH',
    200,
    1,
    async (service, ticket) => service.send(`PATCH /tickets/${ticket}`, { body: { isOpen } }),
  ],
  [
    'a PUT',
    200,
    1,
    async (service, ticket) => {
      const { company } = (await service.send(`GET /tickets/${ticket}`)).body
      return service.send(`PUT /tickets/${ticket}`, { body: { company, isOpen } })
    },
  ],
  [
    'a batch with a PATCH',
    200,
    1,
    (service, ticket) => batch(service, [{ method: 'PATCH', path: `/tickets/${ticket}`, body: { isOpen } }]),
  ],
]

describe.each(storages)('in %s, all tickets that are opened at once get their number', (_, createAdapter) => {
  test.each(OPENINGS)('by %s', async (_what, ok, each, run) => {
    const service = open(createAdapter())
    const company = await create(service, '/companies')
    const requests = each === 1 ? MANY : FEW
    const answers = await Promise.all(upTo(requests).map(() => run(service, company)))
    expect(statusesOf(answers)).toEqual([ok])
    expect(await numbersOf(service, company)).toEqual(upTo(requests * each))
  })

  test.each(UPDATES)('by %s', async (_what, ok, _each, run) => {
    const service = open(createAdapter())
    const company = await create(service, '/companies')
    const tickets = await Promise.all(upTo(MANY).map(() => create(service, '/tickets', { company })))
    const answers = await Promise.all(tickets.map((ticket) => run(service, ticket)))
    expect(statusesOf(answers)).toEqual([ok])
    expect(await numbersOf(service, company)).toEqual(upTo(MANY))
  })

  test('of several companies, by whatever opens them', async () => {
    const service = open(createAdapter())
    const companies = await Promise.all(upTo(2).map(() => create(service, '/companies')))
    const answers = await Promise.all(
      upTo(FEW).flatMap((i) =>
        companies.map((company) => OPENINGS[i % OPENINGS.length]?.[3](service, company)),
      ),
    )
    for (const answer of answers) expect(answer?.status).toBeOneOf([200, 201])
    const perCompany = upTo(FEW).reduce((sum, i) => sum + (OPENINGS[i % OPENINGS.length]?.[2] ?? 0), 0)
    for (const company of companies) expect(await numbersOf(service, company)).toEqual(upTo(perCompany))
  })

  test.each(OPENINGS)('by %s, of which the first creates the counter', async (_what, ok, each, run) => {
    const service = open(createAdapter(), asideOf)
    const company = await create(service, '/companies')
    const requests = each === 1 ? MANY : FEW
    const answers = await Promise.all(upTo(requests).map(() => run(service, company)))
    expect(statusesOf(answers)).toEqual([ok])
    expect(await numbersOf(service, company)).toEqual(upTo(requests * each))
  })

  test('and one whose number is taken, with a counter that stands still, is refused at once', async () => {
    let asked = 0
    const counting = numbering(inCompany)
    const service = createTestService(config, {
      adapter: createAdapter(),
      hooks: {
        tickets: {
          before(change: HookChange) {
            asked += 1
            return counting.tickets.before(change)
          },
        },
      } as never,
    })
    opened.push(service)
    const company = await create(service, '/companies')
    await create(service, '/tickets', { company, number: 1 })
    asked = 0
    const taken = await service.send('POST /tickets', { body: { company, isOpen } })
    expect([taken.status, taken.body.code, asked]).toEqual([409, 'unique_violation', 1])
  })
})

test.each(lasting)(
  'in %s, through several services no number is given twice or left out',
  async (_, lastAt) => {
    const connect = lastAt()
    const services = [open(connect()), open(connect())] as const
    const company = await create(services[0], '/companies')
    const body = { company, isOpen }
    // Turns are those of one process: among several, a write may lose all of its attempts.
    const sending = upTo(MANY).map((i) =>
      services[i % 2 ? 0 : 1].send('POST /tickets', { body, mayFail: true }),
    )
    const answers = await Promise.all(sending)
    for (const { status, body: sent } of answers)
      expect([201, 'overloaded']).toContain(status === 201 ? 201 : sent.code)
    const stored = answers.filter(({ status }) => status === 201)
    expect(await numbersOf(services[0], company)).toEqual(upTo(stored.length))
  },
)
