import { digestToken } from '../../src/core/accounts/auth/token.js'
import fc from './fast-check.js'
import type { Source } from './laws.js'
import { NOW, type OracleCaller } from './oracle.js'
import { disguiseRelated, relatedQueries, relatedWorlds, USER_IDS } from './related-worlds.js'
import type { Disguise, SignedIn, World } from './worlds.js'

type Json = { readonly [name: string]: unknown }

const APP = 'https://app.example'

/** The settings of a service whose callers are signed in by a cookie. */
export const COOKIES = {
  auth: { roleField: 'role', cookie: { origins: [APP] } },
  options: { cors: { origins: [APP] } },
}

/** The fields of an account that rules use. */
const OF_CALLERS: Json = {
  role: { type: 'array', items: { type: 'string' } },
  team: { type: 'string' },
  teams: { type: 'array', items: { type: 'string' } },
  age: { type: 'integer' },
}

const TOKEN = 'T'.repeat(43)
const DEAD = 'A'.repeat(43)

/** The pages that may write with the cookie. */
const PAGES: readonly { readonly [name: string]: string }[] = [
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'same-origin', origin: 'http://service.test' },
  { 'sec-fetch-site': 'none' },
  { origin: 'http://service.test' },
  { 'sec-fetch-site': 'cross-site', origin: APP },
]

/** Those that may not. */
const FOREIGN: readonly { readonly [name: string]: string }[] = [
  {},
  { origin: 'null' },
  { origin: 'https://evil.example' },
  { 'sec-fetch-site': 'same-site', origin: 'http://service.test' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
]

const sessionOf = (token: string, user: string): Json => ({
  _id: digestToken(token),
  user,
  stamp: 'a stamp',
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: new Date(Date.parse(NOW) + 60_000).toISOString(),
})

/** The ways to send the cookie of an account. */
const signIn = (user: string): fc.Arbitrary<SignedIn> =>
  fc.tuple(fc.constantFrom(...PAGES), fc.constantFrom(...FOREIGN)).map(([page, foreign]) => ({
    headers: { cookie: `__Host-session=${TOKEN}`, ...page },
    foreign: [TOKEN, DEAD].map((token) => ({ cookie: `__Host-session=${token}`, ...foreign })),
    sessions: [sessionOf(TOKEN, user)],
  }))

/** The account of a caller, and the caller that the service makes of it. */
function accountOf({ id, roles, team, teams, age }: OracleCaller, stored: Json) {
  const own = { ...stored, _id: id, role: roles, team, teams, age, _stamp: 'a stamp' }
  const account = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  const { _stamp: _, ...fields } = account
  return { account, caller: { ...fields, id, roles } }
}

/** Worlds whose caller is an account with a session in a cookie. */
const signedInWorlds: fc.Arbitrary<World> = relatedWorlds.chain((world) => {
  const { users, caller } = world
  if (!users) throw new Error('the world has accounts')
  const known = caller ?? { id: String(USER_IDS[0]), roles: [] }
  const stored = users.documents.find(({ _id }) => _id === known.id) ?? { createdAt: NOW, updatedAt: NOW }
  const { account, caller: own } = accountOf(known, stored)
  const others = users.documents.filter(({ _id }) => _id !== known.id)
  const { collection } = users
  const schema = { ...collection.schema, ...OF_CALLERS }
  return signIn(known.id).map((signedIn) => ({
    ...world,
    users: { collection: { ...collection, schema }, documents: [account, ...others] },
    caller: own,
    signedIn,
  }))
})

/** A disguise in which the account of the caller stays as it is, and sessions of others come. */
const disguiseSignedIn = (world: World): fc.Arbitrary<Disguise> =>
  fc.tuple(disguiseRelated(world), fc.boolean()).map(([others, isAdded]) => {
    const own = world.users?.documents.find(({ _id }) => _id === world.caller?.id)
    const rest = others.users?.filter(({ _id }) => _id !== own?._id) ?? []
    const sessions = world.signedIn?.sessions ?? []
    return {
      ...others,
      users: own ? [own, ...rest] : rest,
      _sessions: isAdded ? [...sessions, sessionOf('B'.repeat(43), String(USER_IDS[3]))] : sessions,
    }
  })

/** Worlds whose caller is signed in by a cookie: what is read of them, and what pages of other sites learn. */
export const SIGNED_IN: Source = {
  worlds: signedInWorlds,
  disguise: disguiseSignedIn,
  queries: relatedQueries,
}
