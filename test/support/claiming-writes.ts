import {
  CLAIMS,
  CLAIMS_OVER,
  judgeBy,
  MEMBERSHIPS,
  membershipRules,
  memberships,
  withTeams,
} from './claim-worlds.js'
import fc from './fast-check.js'
import { type OracleCaller, readersOf, viewsOf } from './oracle.js'
import { type Account, account, callerIn, type Difference, type WriteSource } from './write-laws.js'
import {
  PLAIN_PEOPLE,
  pairsOf,
  type Store,
  thingSchemas,
  type WriteRequest,
  type WriteWorld,
  withRequests,
} from './write-worlds.js'

type Json = { readonly [name: string]: unknown }

/** Who the caller is through memberships; they are theirs alone, and nobody writes them here. */
const withClaims = (caller: OracleCaller, { memberships = [] }: Store, claims: Json): OracleCaller =>
  withTeams(caller, memberships, claims) ?? caller

/** Pairs of stores that may differ in memberships too, where that shows the caller the same. */
const worldsOf = (...some: readonly Json[]): fc.Arbitrary<WriteWorld> =>
  fc
    .tuple(memberships, membershipRules, fc.constantFrom(...some))
    .chain(([own, permissions, claims]) => {
      const teams = withTeams({ id: 'ann', roles: [] }, own, claims)?.teams
      const standing = { rules: (some: Json) => judgeBy('teams', some), fields: { teams } }
      return fc.tuple(
        pairsOf(thingSchemas, PLAIN_PEOPLE, standing),
        fc.constant({ own, claims, collection: { schema: MEMBERSHIPS, permissions } }),
        fc.tuple(memberships, memberships),
      )
    })
    .map(([world, { own, claims, collection }, others]): Omit<WriteWorld, 'requests'> => {
      const { config, caller, pair } = world
      const { teams: _, ...named } = caller
      const raw = named as OracleCaller
      const seenOf = (store: Store): string => {
        const known = withClaims(raw, store, claims)
        return JSON.stringify([
          viewsOf(config.collections.things, store.things, known),
          viewsOf(collection, store.memberships ?? [], known),
        ])
      }
      let there: Store = { ...pair[1], memberships: own }
      const seen = seenOf(there)
      for (const one of others.flat()) {
        const rest = (there.memberships ?? []).filter(({ _id }) => _id !== one._id)
        for (const some of [rest, [...rest, one]])
          if (seenOf({ ...there, memberships: some }) === seen) there = { ...there, memberships: some }
      }
      return {
        config: {
          ...config,
          collections: { ...config.collections, memberships: collection },
          auth: { claims },
        },
        caller: raw,
        callerIn: (store) => withClaims(raw, store, claims),
        pair: [{ ...pair[0], memberships: own }, there],
      }
    })
    .chain((world) => withRequests(world))

/** Beside what accounts for differences everywhere: a `check`, and what is shown of something new, by other claims. */
function accountForClaims(
  world: WriteWorld,
  request: WriteRequest,
  difference: Difference,
): Account | undefined {
  const known = account(world, request, difference)
  if (known) return known
  const { before, after } = difference
  const [here, there] = before.map((store) => JSON.stringify(callerIn(world, store).teams))
  if (here === there) return undefined
  const { things } = world.config.collections
  const readers = after.map((store, i) => {
    const fresh = store.things.filter((one) => before[i]?.things.every(({ _id }) => _id !== one._id))
    return JSON.stringify(fresh.map((one) => readersOf(things, one, callerIn(world, store))))
  })
  if (readers[0] !== readers[1]) return 'where'
  const operation =
    request.line.startsWith('POST') || request.headers?.['if-none-match'] ? 'create' : 'update'
  const rules = Object.values(things.permissions).flatMap((grant) => (grant as Json)[operation])
  const isJudged = rules.some((rule) => JSON.stringify(judgedBy(rule)).includes('$user.teams'))
  return isJudged ? 'check' : undefined
}

const judgedBy = (rule: unknown): unknown => {
  const { check, where } = typeof rule === 'object' && rule !== null ? (rule as Json) : {}
  return check ?? where ?? null
}

/** Writes under rules that use some of these claims. */
export const claimingWritesOf = (...some: readonly Json[]): WriteSource => ({
  worlds: worldsOf(...some),
  account: accountForClaims,
})

export const CLAIMING_WRITES = claimingWritesOf(CLAIMS, CLAIMS_OVER)
