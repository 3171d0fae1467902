import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type createCollectionService,
  createMemoryAdapter,
  forwardedAddress,
  type OptionsFor,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { claimWorlds, disguiseWithClaims } from './claim-worlds.js'
import fc from './fast-check.js'
import {
  expandView,
  expectList,
  NOW,
  type OracleCollection,
  type OracleOthers,
  type OracleQuery,
  viewsOf,
} from './oracle.js'
import { PAGE } from './page.js'
import { disguiseRelated, relatedQueries, relatedWorlds } from './related-worlds.js'
import { createTestService, type SendOptions, type Sent, type TestService } from './service.js'
import { COOKIES } from './signed-in-worlds.js'
import { seedOf } from './tier.js'
import { followingOf } from './walk.js'
import {
  type Disguise,
  disguise,
  queriesOf,
  raiseIds,
  type SignedIn,
  type World,
  worlds,
  writeQuery,
} from './worlds.js'

export type Create = typeof createCollectionService

/** The worlds are the same in every run: how often something is seen among them is known. */
const SEED = 1

/** Which of the worlds are asked about: so many from the first on, or, as `fast-check` names it, one alone. */
export type Worlds = number | string

/** The first difference is enough. */
export const parametersOf = (worlds: Worlds) => ({
  seed: seedOf(SEED),
  endOnFailure: true,
  ...(typeof worlds === 'number' ? { numRuns: worlds } : { numRuns: 1, path: worlds }),
})

/** One world in so many is asked to describe itself, the first among them: that takes as long as half of the rest. */
const DESCRIBED = 4

/** One world in so many is asked of a service, too, that has answered before its documents were written. */
const REWRITTEN = 2

/** One world in so many is behind a proxy, but not the first, by which mutants are found. */
const PROXIED = 3

/** One world in so many is first read with full rights: caches then hold what its caller may not see. */
const READ_WHOLE = 2

/** The options of a service behind a proxy, which removes a path from the requests. */
export const PROXY: OptionsFor<unknown> = {
  publicPath: '/desk',
  clientAddress: forwardedAddress({ trust: 1 }),
}

/** An adapter over a new, empty place. */
export type CreateAdapter = () => StorageAdapter

/** A service over a world's documents, put straight into the storage: some of them no body could bring in. */
export async function openWorld(
  { collection, people, users, memberships, expanded, signedIn }: World,
  stored: Disguise,
  create?: Create,
  createAdapter: CreateAdapter = createMemoryAdapter,
  options: OptionsFor<unknown> = {},
): Promise<TestService> {
  const adapter = createAdapter()
  const service = createTestService(
    {
      collections: {
        things: collection,
        people: people.collection,
        ...(users ? { users: withCredentials(users.collection) } : {}),
        ...(memberships ? { memberships: memberships.collection } : {}),
      },
      ...(memberships ? { auth: { claims: memberships.claims } } : {}),
      ...(signedIn ? { auth: COOKIES.auth } : {}),
      ...(expanded === undefined ? {} : { limits: { expanded } }),
    },
    {
      adapter,
      now: () => Date.parse(NOW),
      authenticate: () => null,
      holdsOthers: true,
      page: PAGE,
      ...(users ? { accounts: true } : {}),
      ...(create ? { create } : {}),
      ...(signedIn ? COOKIES.options : {}),
      ...options,
    },
  )
  await service.handler.ready()
  await fill(adapter, stored)
  return service
}

/** Puts documents straight into a storage; `isFilled`: in the place of those that are there. */
export async function fill(
  adapter: StorageAdapter,
  { documents, ...others }: Disguise,
  isFilled = false,
): Promise<void> {
  const steps = Object.entries({ things: documents, ...others }).flatMap(([name, some]) => [
    ...(isFilled ? [{ in: name, remove: everything }] : []),
    ...some.map((document) => ({
      in: name,
      insert: { ...document, _version: 1 } as unknown as StoredDocument,
    })),
  ])
  expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
}

/** A collection of which the service makes accounts. */
const withCredentials = ({ schema, permissions }: OracleCollection): OracleCollection => ({
  schema: { ...schema, email: { type: 'string', unique: true, lowercase: true }, pin: { type: 'hash' } },
  permissions,
})

/** What is stored in a world as it was made. */
export const plain = ({ documents, people, users, memberships, signedIn }: World): Disguise => ({
  documents,
  people: people.documents,
  ...(users ? { users: users.documents } : {}),
  ...(memberships ? { memberships: memberships.documents } : {}),
  ...(signedIn ? { _sessions: signedIn.sessions } : {}),
})

/** How the caller of a world sends requests. */
export const senderOf = ({ caller, sent = caller, signedIn }: World): SendOptions =>
  signedIn ? { headers: signedIn.headers } : { caller: sent }

/** The worlds that are asked about, and how what nobody sees of one is changed. */
export interface Source {
  readonly worlds: fc.Arbitrary<World>
  readonly disguise: (world: World) => fc.Arbitrary<Disguise>
  /** What is asked. */
  readonly queries?: (world: World) => fc.Arbitrary<OracleQuery>
}

/** Worlds whose rules go by what is stored. */
export const PLAIN: Source = { worlds, disguise }

/** Worlds whose rules use claims. */
export const CLAIMING: Source = { worlds: claimWorlds, disguise: disguiseWithClaims }

/** Worlds whose references are followed over several levels, to who created what among them. */
export const RELATED: Source = {
  worlds: relatedWorlds,
  disguise: disguiseRelated,
  queries: relatedQueries,
}

const ofSchema = ({ collection }: World): fc.Arbitrary<OracleQuery> => queriesOf(collection.schema)

/** Worlds, each with queries of its lists. */
export const withQueries = (
  count: { minLength: number; maxLength: number },
  { worlds: from, queries = ofSchema }: Source = PLAIN,
) => from.chain((world) => fc.tuple(fc.constant(world), fc.array(queries(world), count)))

/** The collections to which a world's references lead. */
const othersOf = ({ people, users, memberships, expanded }: World): OracleOthers => ({
  collections: { people, ...(users ? { users } : {}) },
  ...(memberships ? { claims: Object.keys(memberships.claims) } : {}),
  ...(expanded === undefined ? {} : { expanded }),
})

const NUMBERS: readonly unknown[] = ['number', 'integer']

/**
 * An aggregate with the filter of a query. Fields of any type divide and measure: what is not allowed for one of them is
 * refused, in the same words for the same caller.
 */
function writeAggregate({ collection: { schema } }: World, query: OracleQuery, i: number): string {
  const fields = Object.entries(schema as { readonly [name: string]: { readonly type?: unknown } })
  const names = [...fields.map(([name]) => name), 'createdBy']
  const scalars = fields.flatMap(([name, { type }]) => (OPAQUE.includes(type) ? [] : [name]))
  const numbers = fields.flatMap(([name, { type }]) => (NUMBERS.includes(type) ? [name] : []))
  const first = names[i % names.length] ?? '_id'
  const second = names[(i * 3 + 1) % names.length] ?? '_id'
  const form = schema[first] && (schema[first] as { type?: unknown }).type === 'timestamp' ? 'month' : 'value'
  const measured = numbers.slice(0, 1 + (i % 2))
  const extreme = scalars[i % Math.max(1, scalars.length)]
  return [
    writeQuery(countable(query)),
    ...(i % 4 === 3 ? [] : [`by[${first}]=${form}`]),
    ...(i % 4 === 1 && second !== first ? [`by[${second}]=value`] : []),
    ...(measured.length > 0 ? [`sum=${JSON.stringify(measured)}&avg=${JSON.stringify(measured)}`] : []),
    ...(extreme === undefined ? [] : [`min=["${extreme}"]&max=["${extreme}"]`]),
    ...(i % 3 === 2 ? ['sort[$count]=-1&limit=2&total=true'] : []),
  ]
    .filter((part) => part !== '')
    .join('&')
}

const OPAQUE: readonly unknown[] = ['object', 'json', 'array', 'hash']

/** What a count takes of a query. */
export const countable = ({ conditions, or, ignoreCase }: OracleQuery): OracleQuery => ({
  conditions,
  sort: [],
  ...(or ? { or } : {}),
  ...(ignoreCase === undefined ? {} : { ignoreCase }),
})

/** list = slice(sort(filter(visible(store)))), and count is its length. Throws on a counterexample. */
export async function checkLists(
  runs: Worlds,
  create?: Create,
  createAdapter?: CreateAdapter,
): Promise<{ refused: number; some: number }> {
  const seen = { refused: 0, some: 0 }
  await fc.assert(
    fc.asyncProperty(withQueries({ minLength: 4, maxLength: 8 }), async ([world, asked]) => {
      const { collection, documents, caller } = world
      const { send, handler } = await openWorld(world, plain(world), create, createAdapter)
      for (const query of asked) {
        const expected = expectList(collection, documents, caller, query, othersOf(world))
        const { status, body } = await send(`GET /things?${writeQuery(query)}`, { caller })
        if (typeof expected === 'number') {
          seen.refused += 1
          expect(status).toBe(expected)
        } else {
          expect(body).toEqual(expected)
          if (expected.length > 0 && expected.length < documents.length) seen.some += 1
        }
        const all = expectList(collection, documents, caller, countable(query))
        const count = await send(`GET /things/count?${writeQuery(countable(query))}`, { caller })
        if (typeof all === 'number') expect(count.status).toBe(all)
        else expect(count.body).toEqual({ total: all.length })
      }
      await handler.close()
    }),
    parametersOf(runs),
  )
  return seen
}

/** An answer but for what is random in it. */
export const comparable = ({ status, headers, text }: Awaited<ReturnType<TestService['send']>>): string =>
  JSON.stringify([status, [...headers], text.replace(/"requestId":"[^"]*"/, '')])

/** What two services answer to the same request; a body, where there is one, is empty. */
export const ask = (
  services: readonly TestService[],
  request: string,
  sender: SendOptions,
): Promise<string[]> =>
  Promise.all(
    services.map(async ({ send }) => {
      const body = /^(?:POST|PATCH|PUT) /.test(request) ? { body: {} } : {}
      return comparable(await send(request, { ...sender, ...body }))
    }),
  )

/** A list whose query leaves no room for a cursor: its pages begin by `Next-Skip`, and have no `Link`. */
const UNLINKED = `/things?limit=1&q[_id][$nin]=["${'x'.repeat(8100)}"]`

/** Every answer on the way through the pages of a list. */
export async function walk({ send }: TestService, first: string, sender: SendOptions): Promise<string[]> {
  const answers: string[] = []
  for (let path: string | undefined = first; path !== undefined && answers.length < 20; ) {
    const answer: Sent = await send(`GET ${path}`, sender)
    answers.push(comparable(answer))
    path = followingOf(path, answer)
  }
  return answers
}

/** How many documents lie one in the other. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Math.max(0, ...Object.values(value).map(depthOf)) + (Object.hasOwn(value, '_id') ? 1 : 0)
}

/** What a service has answered before. */
interface Before {
  readonly requests: readonly string[]
  readonly sender: SendOptions
  readonly create: Create | undefined
  readonly createAdapter: CreateAdapter | undefined
  readonly options: OptionsFor<unknown>
}

/** A service that has answered over other documents, and without memberships, before those of its world were written. */
async function openRewritten(
  world: World,
  disguised: Disguise,
  { requests, sender, create, createAdapter, options }: Before,
): Promise<TestService> {
  const earlier = { ...disguised, ...(disguised.memberships ? { memberships: [] } : {}) }
  const service = await openWorld(world, earlier, create, createAdapter, options)
  for (const request of requests) await ask([service], request, sender)
  await fill(service.adapter, plain(world), true)
  return service
}

const FOREIGN_WRITES = ['POST /things', 'POST /_batch', 'POST /auth/logout', 'POST /auth/logout-all']

/**
 * The answers to the writes of a page of another site are the same in all stores, and whether or not its cookie is a
 * session, which they leave as it was.
 */
async function checkForeign(
  services: readonly TestService[],
  { headers, foreign }: SignedIn,
  writes: readonly string[],
): Promise<void> {
  for (const request of writes) {
    const answers = await Promise.all(foreign.map((own) => ask(services, request, { headers: own })))
    const [first, ...others] = answers.flat()
    for (const answer of others) expect(answer, request).toBe(first)
  }
  for (const { send } of services) expect((await send('GET /auth/me', { headers })).status).not.toBe(401)
}

/**
 * Non-interference (CONTRACT.md §5, "No leak"): two stores that show a caller the same documents and fields give that
 * caller byte-identical answers, each what the oracle says. Throws on a counterexample.
 */
export async function checkNonInterference(
  runs: Worlds,
  create?: Create,
  createAdapter?: CreateAdapter,
  source = PLAIN,
): Promise<{
  different: number
  expanded: number
  /** Of those, over more than one reference. */
  deep: number
  hidden: number
  /** How often a list was longer than a page, and followed by `Next-Skip`. */
  unlinked: number
}> {
  const seen = { different: 0, expanded: 0, deep: 0, hidden: 0, unlinked: 0 }
  let asks = 0
  await fc.assert(
    fc.asyncProperty(
      withQueries({ minLength: 16, maxLength: 16 }, source).chain(([world, asked]) =>
        fc.tuple(fc.constant(world), fc.constant(asked), source.disguise(world)),
      ),
      async ([world, asked, disguised]) => {
        const { collection, documents, people, users, caller, memberships, signedIn } = world
        const sender = senderOf(world)
        const others = othersOf(world)
        const views = viewsOf(collection, documents, caller)
        expect(viewsOf(collection, disguised.documents, caller)).toEqual(views)
        for (const [{ collection, documents }, other] of [
          [people, disguised.people],
          ...(users ? ([[users, disguised.users ?? []]] as const) : []),
        ] as const)
          expect(viewsOf(collection, other, caller)).toEqual(viewsOf(collection, documents, caller))
        if (JSON.stringify(disguised) !== JSON.stringify(plain(world))) seen.different += 1
        const options = asks % PROXIED === PROXIED - 1 ? PROXY : {}
        const [one, other] = [
          await openWorld(world, plain(world), create, createAdapter, options),
          await openWorld(world, disguised, create, createAdapter, options),
        ]
        const isRewritten = asks % REWRITTEN === 0
        const idsOf = (all: World['documents']) => [...new Set(all.map(({ _id }) => String(_id)))].slice(0, 4)
        const ids = idsOf([...documents, ...disguised.documents]).map((_id, i) =>
          i % 2 ? raiseIds(_id) : _id,
        )
        const expands = asked.flatMap(({ expand }) => (expand?.length ? [JSON.stringify(expand)] : []))
        const requests = [
          ...asked.map((query) => `GET /things?${writeQuery(query)}`),
          ...asked.slice(0, 14).map((query) => `GET /things/count?${writeQuery(countable(query))}`),
          ...ids.map((_id) => `GET /things/${_id}`),
          ...ids.flatMap((_id) => expands.slice(0, 2).map((expand) => `GET /things/${_id}?expand=${expand}`)),
          ...idsOf([...people.documents, ...disguised.people]).map((_id) => `GET /people/${_id}`),
          ...(users ? ['GET /users', 'GET /users/count'] : []),
          ...idsOf([...(users?.documents ?? []), ...(disguised.users ?? [])]).map(
            (_id) => `GET /users/${_id}`,
          ),
          ...(memberships ? ['GET /memberships', 'GET /memberships/count'] : []),
          ...(signedIn ? ['GET /auth/me', 'GET /auth/sessions'] : []),
          'GET /people',
          'GET /people/count',
          'GET /',
          ...(asks++ % DESCRIBED === 0 ? ['GET /_openapi.json', 'GET /_page', 'GET /_health/ready'] : []),
          ...asked.map((query, i) => `GET /things/aggregate?${writeAggregate(world, query, i)}`),
        ]
        expect(requests.length).toBeGreaterThanOrEqual(30)
        if (asks % READ_WHOLE === 0)
          // A query is cached when it comes a second time.
          for (const request of [...requests.slice(0, 3), ...requests.slice(0, 3), 'GET /people'])
            for (const { send } of [one, other]) await send(request, { system: {} })
        const rewritten = isRewritten
          ? [
              await openRewritten(world, disguised, {
                requests,
                sender,
                create,
                createAdapter,
                options,
              }),
            ]
          : []
        // A single document is expanded as it is in a list.
        for (const { expand } of asked.filter(({ expand }) => expand?.length).slice(0, 3)) {
          const all = expectList(
            collection,
            documents,
            caller,
            {
              conditions: [],
              sort: [],
              expand: expand ?? [],
            },
            others,
          )
          for (const view of typeof all === 'number' ? [] : views) {
            const asText = JSON.stringify(expand)
            const { body } = await one.send(`GET /things/${view._id}?expand=${asText}`, sender)
            const expected = expandView(view, { paths: expand ?? [], collection, caller, others })
            expect(body).toEqual(expected)
            if (depthOf(expected) > 2) seen.deep += 1
            seen[JSON.stringify(expected) === JSON.stringify(view) ? 'hidden' : 'expanded'] += 1
          }
        }
        const writes = ids.flatMap((_id) =>
          ['PATCH', 'PUT', 'DELETE'].map((method) => `${method} /things/${_id}`),
        )
        for (const [i, request] of [...requests, ...writes, 'POST /things'].entries()) {
          const [here = '', ...theres] = await ask([one, other, ...rewritten], request, sender)
          for (const there of theres) if (here !== there) expect(here, request).toBe(there)
          if (request === 'GET /_page') expect(JSON.parse(here)[2]).toBe(PAGE.html)
          const query = asked[i]
          if (!query) continue
          // The lists, which come first, are what the oracle says.
          const expected = expectList(collection, documents, caller, query, others)
          const [status, , text] = JSON.parse(here)
          if (typeof expected === 'number') expect(status).toBe(expected)
          else expect(JSON.parse(text)).toEqual(expected)
        }
        for (const query of asked.slice(0, 2)) {
          const first = `/things?${writeQuery({ ...query, skip: 0, limit: 2 })}`
          const [here, there] = [await walk(one, first, sender), await walk(other, first, sender)]
          expect(here, first).toEqual(there)
        }
        const [here, there] = [await walk(one, UNLINKED, sender), await walk(other, UNLINKED, sender)]
        expect(here).toEqual(there)
        if (here.length > 1) seen.unlinked += 1
        if (signedIn) await checkForeign([one, other, ...rewritten], signedIn, [...writes, ...FOREIGN_WRITES])
        await Promise.all([one, other, ...rewritten].map(({ handler }) => handler.close()))
      },
    ),
    parametersOf(runs),
  )
  return seen
}
