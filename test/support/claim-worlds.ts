import fc from './fast-check.js'
import { type OracleCaller, viewsOf } from './oracle.js'
import { type Disguise, disguise, type World, worlds } from './worlds.js'
import { type WriteWorld, writeWorlds } from './write-worlds.js'

type Json = { readonly [name: string]: unknown }

/** What the claims of a world are made of, and who may read it. */
export const MEMBERSHIPS: Json = {
  user: { type: 'string', index: true },
  team: { type: 'string' },
  isOver: { type: 'boolean' },
  unit: { type: 'string', index: true },
}

/** The `teams` of a caller are those of their memberships that are not over. */
export const CLAIMS: Json = {
  teams: { from: 'memberships', where: { user: '$user._id', isOver: { $ne: true } }, take: 'team' },
}

/** The `teams` of a caller are those of all memberships, not over, in the units of their own. */
export const CLAIMS_OVER: Json = {
  teams: {
    from: 'memberships',
    where: { unit: { $in: '$user.units' }, isOver: { $ne: true } },
    take: 'team',
  },
  units: { from: 'memberships', where: { user: '$user._id' }, take: 'unit' },
}

/** The same, the slow and obvious way; nobody is no member. */
export function withTeams(
  caller: OracleCaller | null,
  memberships: readonly Json[],
  claims = CLAIMS,
): OracleCaller | null {
  if (caller === null) return null
  const units = memberships.flatMap(({ user, unit }) =>
    user === caller.id && typeof unit === 'string' ? [unit] : [],
  )
  const isOwn = ({ user, unit }: Json): boolean =>
    claims === CLAIMS ? user === caller.id : units.some((one) => one === unit)
  const own = memberships.filter((one) => isOwn(one) && one.isOver !== true && typeof one.team === 'string')
  const byAge = own.sort((a, b) => (`${a.createdAt} ${a._id}` < `${b.createdAt} ${b._id}` ? -1 : 1))
  return { ...caller, teams: [...new Set(byAge.map(({ team }) => team))] }
}

const id = (n: number): string => `0190163d-8694-7000-8000-${(3000 + n).toString(16).padStart(12, '0')}`

const membership = fc.record(
  {
    user: fc.constantFrom<unknown>('ann', 'ann', 'bob', 5),
    team: fc.constantFrom<unknown>('', 'a', 'B', 'ab', 'b', 'z', 'é', '10', 5),
    isOver: fc.constantFrom<unknown>(true, false, 'no'),
    unit: fc.constantFrom<unknown>('x', 'x', 'y', 5),
    createdAt: fc.constantFrom('2026-01-01T00:00:00.000Z', '1999-12-31T23:59:59.999Z'),
    createdBy: fc.constantFrom<unknown>('ann', 'bob', null),
  },
  { requiredKeys: ['user', 'createdAt', 'createdBy'] },
)

/** Memberships at random. */
export const memberships = fc
  .array(membership, { maxLength: 6 })
  .map((all) => all.map((one, i): Json => ({ _id: id(i), ...one, updatedAt: '2026-01-01T00:00:00.000Z' })))

/** Nobody sees memberships, or everyone does, or each their own, or a part of them. */
export const membershipRules = fc.constantFrom<Json>(
  {},
  { '*': { read: true } },
  { user: { read: { where: { user: '$user._id' } } } },
  { user: { read: { omit: ['team'], where: { isOver: { $ne: true } } } }, owner: { read: true } },
)

/** A condition with a claim in the place of some of those that there are. */
const claiming = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(claiming)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, replace(name, inner)]))
}
const replace = (name: string, inner: unknown): unknown =>
  ['s', 't'].includes(name) && typeof inner === 'string'
    ? { [inner < 'b' ? '$in' : '$nin']: '$user.teams' }
    : claiming(inner)

/** A world whose rules use some of these claims, as they use fields of a host's caller in others. */
export const claimWorldsOf = (...some: readonly Json[]): fc.Arbitrary<World> =>
  fc
    .tuple(worlds, memberships, membershipRules, fc.constantFrom(...some))
    .map(([world, documents, permissions, claims]) => ({
      ...world,
      collection: { ...world.collection, permissions: claiming(world.collection.permissions) as Json },
      memberships: { collection: { schema: MEMBERSHIPS, permissions }, documents, claims },
      // What a host says does not stand in.
      sent: world.caller,
      caller: withTeams(world.caller, documents, claims),
    }))

export const claimWorlds = claimWorldsOf(CLAIMS, CLAIMS_OVER)

/** A disguise in which memberships come, go and change too, where that shows the caller the same. */
export const disguiseWithClaims = (world: World): fc.Arbitrary<Disguise> =>
  fc.tuple(disguise(world), memberships, memberships).map(([others, some, more]) => {
    const own = world.memberships
    if (!own) return others
    const views = (present: readonly Json[]): string => {
      const caller = withTeams(world.caller, present, own.claims)
      const { collection, people } = world
      const seen = [
        viewsOf(own.collection, present, caller),
        viewsOf(collection, world.documents, caller),
        viewsOf(collection, others.documents, caller),
        viewsOf(people.collection, others.people, caller),
      ]
      return JSON.stringify(seen)
    }
    const seen = views(own.documents)
    let present: readonly Json[] = own.documents
    const attempt = (variant: readonly Json[]): void => {
      if (views(variant) === seen) present = variant
    }
    for (const other of [...some, ...more]) {
      const rest = present.filter(({ _id }) => _id !== other._id)
      attempt(rest)
      attempt([...rest, other].sort((a, b) => (String(a._id) < String(b._id) ? -1 : 1)))
    }
    return { ...others, memberships: present }
  })

/** Rules that judge `t` by a claim. */
export function judgeBy(claim: string, permissions: Json): Json {
  const judged = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(judged)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => {
        if (name !== 't') return [name, judged(inner)]
        return [name, inner === 'a' ? { $in: `$user.${claim}` } : { $nin: `$user.${claim}` }]
      }),
    )
  }
  return Object.fromEntries(Object.entries(permissions).map(([subject, grant]) => [subject, judged(grant)]))
}

const own = { from: 'things', where: { createdBy: '$user._id' }, take: 't' }
const alike = { from: 'things', where: { t: { $in: '$user.own' } }, take: 't' }

/** The `marks` of a caller are what the caller has written. */
const MARKS: Json = { marks: own }

/** The `marks` of a caller are what everyone has written that is marked as something that the caller has written. */
export const MARKS_OVER: Json = { own, marks: alike }

/** A world of writes whose rules use claims of what was written. */
const withMarks = (world: WriteWorld, claims: Json): WriteWorld => {
  const { things } = world.config.collections
  const permissions = judgeBy('marks', things.permissions)
  return {
    ...world,
    config: {
      ...world.config,
      collections: { ...world.config.collections, things: { ...things, permissions } },
      auth: { claims },
    },
  }
}

/** Worlds of writes whose rules use some of these claims. */
export const markedWorldsOf = (...some: readonly Json[]): fc.Arbitrary<WriteWorld> =>
  fc.tuple(writeWorlds, fc.constantFrom(...some)).map(([world, claims]) => withMarks(world, claims))

/** Worlds whose batches change what their rules claim. */
export const CLAIMING_BATCHES = markedWorldsOf(MARKS, MARKS_OVER)
