import { CLAIMS, claimWorlds } from '../../support/claim-worlds.js'
import fc from '../../support/fast-check.js'
import type { OracleCollection, OracleQuery } from '../../support/oracle.js'
import { relatedQueries, relatedWorlds } from '../../support/related-worlds.js'
import { followingOf } from '../../support/walk.js'
import { queriesOf, raiseIds, type World, worlds, writeQuery } from '../../support/worlds.js'
import { fill, openScene, type Playing, type Stage } from './stage.js'

/** The part of a query that a count takes. */
const countable = ({ conditions, or, ignoreCase }: OracleQuery): OracleQuery => ({
  conditions,
  sort: [],
  ...(or ? { or } : {}),
  ...(ignoreCase === undefined ? {} : { ignoreCase }),
})

/** A collection of which the service makes accounts. */
const withCredentials = ({ schema, permissions }: OracleCollection): OracleCollection => ({
  schema: { ...schema, email: { type: 'string', unique: true, lowercase: true }, pin: { type: 'hash' } },
  permissions,
})

const configOf = ({ collection, people, users, memberships, expanded }: World) => ({
  collections: {
    things: collection,
    people: people.collection,
    ...(users ? { users: withCredentials(users.collection) } : {}),
    ...(memberships ? { memberships: memberships.collection } : {}),
  },
  ...(memberships ? { auth: { claims: CLAIMS } } : {}),
  ...(expanded === undefined ? {} : { limits: { expanded } }),
})

const ofSchema = ({ collection }: World): fc.Arbitrary<OracleQuery> => queriesOf(collection.schema)

const SOURCES: readonly (readonly [fc.Arbitrary<World>, (world: World) => fc.Arbitrary<OracleQuery>])[] = [
  [worlds, ofSchema],
  [claimWorlds, ofSchema],
  [relatedWorlds, relatedQueries],
]

const ids = (documents: readonly { readonly _id?: unknown }[]): readonly string[] =>
  documents.slice(0, 3).map(({ _id }) => String(_id))

/** Reads of random documents under random rules. */
export async function playReads(playing: Playing): Promise<void> {
  const { open } = openScene(playing)
  for (const [source, queries] of SOURCES) {
    const asked = source.chain((world) =>
      fc.tuple(fc.constant(world), fc.array(queries(world), { minLength: 12, maxLength: 12 })),
    )
    // The first of a sample is smaller than the next ones.
    for (const [world, some] of fc.sample(asked, { seed: playing.seed, numRuns: 2 })) {
      const stage = await open(configOf(world), {
        authenticate: () => null,
        ...(world.users ? { accounts: true } : {}),
      })
      const { documents, people, users, memberships } = world
      await fill(stage.adapter, {
        things: documents,
        people: people.documents,
        ...(users ? { users: users.documents } : {}),
        ...(memberships ? { memberships: memberships.documents } : {}),
      })
      await read(stage, world, some)
      await stage.close()
    }
  }
}

async function read(stage: Stage, world: World, some: readonly OracleQuery[]): Promise<void> {
  const { documents, people, users, memberships, caller, sent = caller } = world
  const get = (line: string, headers = {}) => stage.ask(line, { caller: sent, headers })
  for (const query of some) {
    await get(`GET /things?${writeQuery(query)}`)
    await get(`GET /things/count?${writeQuery(countable(query))}`)
    await get(`GET /things?${writeQuery({ ...query, limit: 2 })}&total=true`)
  }
  const expands = some.flatMap(({ expand }) => (expand?.length ? [JSON.stringify(expand)] : []))
  for (const [i, id] of ids(documents).entries()) {
    const { headers } = await get(`GET /things/${i % 2 ? raiseIds(id) : id}`)
    const etag = headers.get('etag')
    if (etag !== null) {
      await get(`GET /things/${id}`, { 'if-none-match': etag })
      await get(`HEAD /things/${id}`, { 'if-match': etag })
      await get(`GET /things/${id}`, { 'if-match': '"another"' })
    }
    for (const expand of expands.slice(0, 2)) await get(`GET /things/${id}?expand=${expand}`)
    await get(`GET /things/${id}?project=["s","o.x"]`)
  }
  const others = { people: people.documents, users: users?.documents, memberships: memberships?.documents }
  for (const [name, all] of Object.entries(others)) {
    if (!all) continue
    await get(`GET /${name}`)
    await get(`GET /${name}/count`)
    for (const id of ids(all)) await get(`GET /${name}/${id}`)
  }
  for (const query of some.slice(0, 2)) {
    let path: string | undefined = `/things?${writeQuery({ ...query, skip: 0, limit: 1 })}`
    for (let pages = 0; path !== undefined && pages < 6; pages++)
      path = followingOf(path, await get(`GET ${path}`))
  }
  await get('GET /')
  await get('HEAD /things')
  const { headers } = await get('GET /_openapi.json')
  await get('GET /_openapi.json', { 'if-none-match': headers.get('etag') ?? '' })
  await stage.ask('GET /things', { caller: null })
  await stage.ask('GET /things')
}
