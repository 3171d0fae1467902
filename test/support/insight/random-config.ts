import type { Random } from '../../../src/tools/testing/adapter/fuzz/random.js'
import {
  COLLECTIONS,
  type CollectionName,
  FIELDS,
  type FieldName,
  type Json,
  ROLES,
  type SmallConfig,
  type SmallDefinition,
  type SmallSchema,
  VALUES,
} from './universe.js'

/** Configurations of the small universe, by chance. */

export type RuleOperation = 'create' | 'read' | 'update' | 'delete'

/** What a configuration may hold beside the usual. */
export interface Kinds {
  readonly hasPatterns?: boolean
}

/** The most rules of a configuration. */
const MAX_RULES = 6

const DEFINITIONS: { readonly [name in FieldName]: readonly SmallDefinition[] } = {
  a: [{ type: 'string' }],
  b: [{ type: 'integer' }],
  c: [{ type: 'boolean' }, { type: 'string', enum: ['a', 'b', 'c'] }],
  d: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }],
}

const valuesOf = (definition: SmallDefinition): readonly unknown[] =>
  VALUES[definition.type].filter((value) => value !== undefined)

function attribute(random: Random, definition: SmallDefinition): SmallDefinition {
  if (random.chance(0.12)) return { ...definition, required: true }
  if (random.chance(0.1)) return { ...definition, immutable: true }
  if (random.chance(0.1)) return { ...definition, default: random.pick(valuesOf(definition)) }
  if (!random.chance(0.12)) return definition
  // `null` then makes room for it.
  const filled = random.chance(0.5) ? { default: random.pick(valuesOf(definition)) } : {}
  return { ...definition, nullable: true, ...filled }
}

export const randomSchema = (random: Random): SmallSchema => {
  const [a, b, c, d] = FIELDS.map((name) => attribute(random, random.pick(DEFINITIONS[name])))
  if (!a || !b || !c || !d) throw new Error('four fields')
  return { a, b, c, d }
}

const SUBJECTS: readonly string[] = ['*', 'user', 'owner', ...ROLES]

/** What may stand beside `create`, `read`, `update` and `delete`. */
const PARTS: { readonly [operation in RuleOperation]: readonly string[] } = {
  create: ['check', 'set', 'pick', 'omit'],
  read: ['where', 'pick', 'omit'],
  update: ['where', 'check', 'set', 'pick', 'omit'],
  delete: ['where'],
}

/** A configuration with at most six rules. */
export function randomConfig(random: Random, kinds: Kinds = {}): SmallConfig {
  const most = random.integer(2, MAX_RULES)
  const counts = { things: random.integer(1, most - 1), notes: 0 }
  counts.notes = most - counts.things
  const collectionOf = (name: CollectionName) => {
    const schema = randomSchema(random)
    return { schema, permissions: randomPermissions(random, schema, counts[name], kinds) }
  }
  const [things, notes] = COLLECTIONS.map(collectionOf)
  if (!things || !notes) throw new Error('two collections')
  return { collections: { things, notes } }
}

export function randomPermissions(random: Random, schema: SmallSchema, rules: number, kinds: Kinds): Json {
  const permissions: { [subject: string]: unknown } = {}
  // Without a right to read, most requests have one answer.
  if (random.chance(0.6)) {
    const reader = random.pick(SUBJECTS.filter((subject) => subject !== 'owner'))
    permissions[reader] = { read: random.chance(0.6) || randomRule(random, schema, 'read', kinds) }
  }
  let last: readonly [subject: string, operation: RuleOperation] | undefined
  for (let i = Object.keys(permissions).length; i < rules; i++) {
    const again: readonly [subject: string, operation?: RuleOperation] =
      last && random.chance(0.35) ? last : [random.pick(SUBJECTS)]
    const [subject, operation = randomOperation(random, subject)] = again
    last = [subject, operation]
    const known = permissions[subject]
    const isOpen = known === undefined || (typeof known === 'object' && !isPlain(known as Json))
    if (!isOpen) continue
    if (known === undefined && random.chance(0.12)) {
      permissions[subject] = randomWhole(random, subject)
      continue
    }
    const others = (known as Json | undefined)?.[operation]
    // A subject that has a rule already gets another, at times.
    const several = typeof others === 'object' && random.chance(0.7) ? [others].flat() : []
    const rule = random.chance(0.1)
      ? false
      : random.chance(0.2) || randomRule(random, schema, operation, kinds)
    const isMore = several.length > 0 && typeof rule === 'object'
    permissions[subject] = {
      ...(known as Json | undefined),
      [operation]: isMore
        ? [...several, rule]
        : random.chance(0.1) && typeof rule === 'object'
          ? [rule]
          : rule,
    }
  }
  return permissions
}

const isPlain = (grant: Json): boolean => grant.pick !== undefined || grant.omit !== undefined

export const randomOperation = (random: Random, subject: string): RuleOperation =>
  random.pick(
    (['create', 'read', 'read', 'update', 'update', 'delete'] as const).filter(
      (operation) => subject !== 'owner' || operation !== 'create',
    ),
  )

/** A grant of everything, of nothing, or the plain form. */
function randomWhole(random: Random, subject: string): unknown {
  if (subject === 'owner' || random.chance(0.5)) return random.chance(0.6)
  return random.chance(0.5) ? { pick: random.sample(FIELDS, 2) } : { omit: random.sample(FIELDS, 2) }
}

/** A rule for an operation. */
export function randomRule(
  random: Random,
  schema: SmallSchema,
  operation: RuleOperation,
  kinds: Kinds,
): Json {
  const rule: { [part: string]: unknown } = {}
  for (const part of PARTS[operation])
    if (random.chance(part === 'where' ? 0.6 : 0.35))
      rule[part] = randomPart(random, schema, part, operation, kinds)
  return rule
}

export function randomPart(
  random: Random,
  schema: SmallSchema,
  part: string,
  operation: RuleOperation,
  kinds: Kinds,
): unknown {
  if (part === 'where' || part === 'check') return randomFilter(random, schema, kinds, 2)
  if (part === 'set') return randomSet(random, schema)
  const system = operation === 'read' && random.chance(0.15) ? ['createdBy'] : []
  return [...random.sample(FIELDS, random.integer(part === 'pick' ? 0 : 1, 3)), ...system]
}

function randomSet(random: Random, schema: SmallSchema): Json {
  const names = random.sample(FIELDS, random.integer(1, 2))
  return Object.fromEntries(
    names.map((name) => {
      const isText = schema[name].type === 'string' && schema[name].enum === undefined
      if (isText && random.chance(0.4)) return [name, random.pick(['$user.team', '$user._id'])]
      if (schema[name].type === 'array' && random.chance(0.3)) return [name, '$user.teams']
      const isNone = schema[name].nullable && random.chance(0.5)
      return [name, isNone ? null : random.pick(valuesOf(schema[name]))]
    }),
  )
}

/** A filter over at most two fields, with a `$or` at times. */
export function randomFilter(random: Random, schema: SmallSchema, kinds: Kinds, size: number): Json {
  if (size > 1 && random.chance(0.25)) {
    const groups = [0, 1].map(() => randomFilter(random, schema, kinds, 1))
    return { [random.chance(0.85) ? '$or' : '$and']: groups }
  }
  const names = random.sample(FIELDS, random.integer(1, size))
  const filter = Object.fromEntries(names.map((name) => [name, randomCondition(random, schema[name], kinds)]))
  return random.chance(0.06) ? { ...filter, createdBy: '$user._id' } : filter
}

export function randomCondition(random: Random, definition: SmallDefinition, kinds: Kinds): unknown {
  const isList = definition.type === 'array'
  const scalars: readonly unknown[] = isList ? ['a', 'b'] : valuesOf(definition)
  const isText = isList || definition.type === 'string'
  const one = (): unknown => random.pick(scalars)
  if (kinds.hasPatterns && isText && random.chance(0.5))
    return { $regex: random.pick(['^a', 'a', '[bc]', 'b$', '^$', '^.$', '^(a|b)$']) }
  const choices: (() => unknown)[] = [
    one,
    () => ({ $ne: one() }),
    () => ({ $exists: random.chance(0.5) }),
    () => null,
    () => ({ $in: random.chance(0.8) ? random.sample(scalars, 2) : [one(), null] }),
    () => ({ $nin: random.sample(scalars, random.integer(0, 2)) }),
  ]
  if (definition.type !== 'boolean')
    choices.push(
      () => ({ [random.pick(['$gt', '$gte', '$lt', '$lte'])]: one() }),
      () => ({ $gt: scalars[0], $lt: scalars.at(-1) }),
    )
  if (isText)
    choices.push(
      () => random.pick<unknown>(['$user.team', { $ne: '$user.team' }, { $in: '$user.teams' }]),
      () =>
        random.pick<unknown>([{ $nin: '$user.teams' }, { $gt: '$user.team' }, { $in: ['a', '$user.team'] }]),
    )
  if (definition.type === 'integer')
    choices.push(() => ({ [random.pick(['$lte', '$gt', '$eq'])]: '$user.level' }))
  return random.pick(choices)()
}
