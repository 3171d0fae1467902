import fc from './fast-check.js'
import type { OracleQuery } from './oracle.js'
import {
  callers,
  type Disguise,
  disguise,
  disguiseAll,
  filledOf,
  PEOPLE,
  PEOPLE_IDS,
  POOL,
  queriesOf,
  schemaOf,
  THING_IDS,
  type World,
} from './worlds.js'

type Json = { readonly [name: string]: unknown }

/** Accounts have ids that others can refer to. */
export const USER_IDS = [1, 2, 3, 4].map((n) => `0190163d-8694-7000-8000-00000000400${n}`)

/** The same with the ids of accounts in place of names, or the other way round. */
function rename<T extends World | Disguise>(from: readonly string[], to: readonly string[], value: T): T {
  const text = from.reduce(
    (changed, name, i) => changed.replaceAll(JSON.stringify(name), JSON.stringify(to[i])),
    JSON.stringify(value),
  )
  return JSON.parse(text)
}
const NAMED = USER_IDS.slice(0, PEOPLE.length)
const withIds = <T extends World | Disguise>(value: T): T => rename(PEOPLE, NAMED, value)

/** A schema with references, to go on from. */
const leading = (minLength: number): fc.Arbitrary<Json> =>
  fc
    .tuple(schemaOf(minLength), fc.subarray(['ref', 'refs', 'o'], { minLength: 1 }))
    .map(([schema, names]) => ({ ...schema, ...Object.fromEntries(names.map((name) => [name, POOL[name]])) }))

/** Of most collections anyone may read most documents: otherwise little leads on from one to the next. */
const opened = (filled: ReturnType<typeof filledOf>): ReturnType<typeof filledOf> =>
  filled.chain((one) => {
    const { permissions, ...rest } = one.collection
    const { schema } = rest
    const readRule = fc.record({
      omit: fc.uniqueArray(fc.constantFrom(...Object.keys(schema), 'createdBy'), { maxLength: 1 }),
      where: fc.constantFrom<Json>({}, { createdAt: { $lt: '2026-01-01T00:00:00.001Z' } }),
    })
    return fc.option(readRule, { freq: 4, nil: undefined }).map((read) => {
      const wide = read ? { ...permissions, '*': { read } } : permissions
      return { ...one, collection: { ...rest, permissions: wide } }
    })
  })

/** Worlds in which documents lead on to others, and to the accounts of those who created them. */
export const relatedWorlds: fc.Arbitrary<World> = fc
  .tuple(leading(1), leading(0), leading(0))
  .chain(([things, people, users]) =>
    fc
      .record({
        things: opened(filledOf(things, THING_IDS.slice(0, 8), 3)),
        people: opened(filledOf(people, PEOPLE_IDS, 5)),
        users: opened(filledOf(users, USER_IDS.slice(0, 3), 2)),
        caller: callers,
        expanded: fc.constantFrom(1, 2, 5, 100),
      })
      .map(({ things, ...rest }) => withIds({ ...things, ...rest })),
  )

/** A disguise in which accounts come, go and change too, where that shows the caller the same. */
export const disguiseRelated = (world: World): fc.Arbitrary<Disguise> => {
  // It knows of names alone.
  const named = rename(NAMED, PEOPLE, world)
  const { users, caller } = named
  if (!users) return disguise(world)
  const { collection, documents } = users
  const free = [...PEOPLE, ...USER_IDS.slice(PEOPLE.length)].filter((id) =>
    documents.every(({ _id }) => _id !== id),
  )
  return fc
    .tuple(disguise(named), disguiseAll(collection, documents, caller, free))
    .map(([others, users]) => withIds({ ...others, users }))
}

/** The names that lead over one to three references, of one collection after the other. */
function pathsOf(schema: Json, { people, users }: World, levels = 3): readonly string[] {
  const references = Object.keys(schema).flatMap((name) =>
    name === 'o' ? ['o.r'] : ['ref', 'refs'].includes(name) ? [name] : [],
  )
  const behind = (path: string, next: Json): readonly string[] =>
    levels === 1 ? [] : pathsOf(next, { people, users } as World, levels - 1).map((rest) => `${path}.${rest}`)
  return [
    ...references.flatMap((path) => [path, ...behind(path, people.collection.schema)]),
    'createdBy',
    ...behind('createdBy', users?.collection.schema ?? {}),
  ]
}

/** Queries that go on from references; now and then too far, or to where there is nothing. */
export const relatedQueries = (world: World): fc.Arbitrary<OracleQuery> => {
  const { schema } = world.collection
  const paths = fc.constantFrom(...pathsOf(schema, world))
  const wrong = fc
    .tuple(paths, fc.constantFrom('createdBy', 'refs', 's', 'o', ''))
    .map(([path, name]) => `${path}.${name}`)
  const path = fc.oneof({ weight: 30, arbitrary: paths }, { weight: 1, arbitrary: wrong })
  // What leads over one reference alone is printed in another way.
  const near = fc.subarray(pathsOf(schema, world, 1) as string[], { minLength: 1 })
  const far = fc.uniqueArray(path, { minLength: 1, maxLength: 4 })
  return queriesOf(schema, fc.oneof({ weight: 1, arbitrary: near }, { weight: 2, arbitrary: far }))
}
