import type { Random } from '../../../src/tools/testing/adapter/fuzz/random.js'
import {
  type Kinds,
  type RuleOperation,
  randomConfig,
  randomOperation,
  randomPart,
  randomPermissions,
  randomRule,
} from './random-config.js'
import { rewrite } from './rewrite.js'
import { COLLECTIONS, type Json, type SmallCollection, type SmallConfig } from './universe.js'

/** Two configurations with the same schemas: what one says, and what it says after somebody's change. */
export interface Pair {
  /** `place`: they differ in one place; `same`: they mean the same, in other words; `random`: by chance. */
  readonly kind: 'place' | 'same' | 'random'
  readonly before: SmallConfig
  readonly after: SmallConfig
}

const KINDS: readonly Pair['kind'][] = ['place', 'same', 'random']

/** A pair by its number: a third of each kind. */
export function pairOf(number: number, random: Random, kinds: Kinds = {}): Pair {
  const kind = KINDS[number % KINDS.length] ?? 'place'
  const before = randomConfig(random, kinds)
  return { kind, before, after: AFTER[kind](random, before, kinds) }
}

const AFTER: {
  readonly [kind in Pair['kind']]: (random: Random, before: SmallConfig, kinds: Kinds) => SmallConfig
} = {
  place: changeOnePlace,
  same: (random, before) => mapCollections(before, (collection) => rewrite(random, collection)),
  random: (random, before, kinds) =>
    mapCollections(before, ({ schema }) => ({
      schema,
      permissions: randomPermissions(random, schema, random.integer(1, 3), kinds),
    })),
}

function mapCollections(
  { collections }: SmallConfig,
  map: (collection: SmallCollection) => SmallCollection,
): SmallConfig {
  return { collections: { things: map(collections.things), notes: map(collections.notes) } }
}

/** Another configuration that differs in one rule, or in one part of a rule. */
function changeOnePlace(random: Random, before: SmallConfig, kinds: Kinds): SmallConfig {
  const name = random.pick(COLLECTIONS.filter((one) => subjectsOf(before, one).length > 0))
  const { schema, permissions } = before.collections[name]
  const subject = random.pick(Object.keys(permissions))
  const changed = changeGrant(random, { ...before.collections[name], subject }, kinds)
  const collection = { schema, permissions: { ...permissions, [subject]: changed } }
  return { collections: { ...before.collections, [name]: collection } }
}

const subjectsOf = ({ collections }: SmallConfig, name: (typeof COLLECTIONS)[number]): readonly string[] =>
  Object.keys(collections[name].permissions)

function changeGrant(
  random: Random,
  { schema, permissions, subject }: SmallCollection & { readonly subject: string },
  kinds: Kinds,
): unknown {
  const grant = permissions[subject]
  const isByOperation =
    typeof grant === 'object' &&
    !Object.hasOwn(grant as Json, 'pick') &&
    !Object.hasOwn(grant as Json, 'omit')
  if (!isByOperation)
    return typeof grant === 'boolean' ? !grant : { pick: random.sample(['a', 'b', 'c', 'd'], 2) }
  const rules = grant as Json
  const known = Object.keys(rules) as RuleOperation[]
  const operation =
    random.chance(0.8) && known.length > 0 ? random.pick(known) : randomOperation(random, subject)
  const rule = rules[operation]
  if (Array.isArray(rule))
    return { ...rules, [operation]: changeRules(random, schema, operation, rule, kinds) }
  if (rule === undefined || typeof rule === 'boolean')
    return {
      ...rules,
      [operation]: random.chance(0.3) ? rule !== true : randomRule(random, schema, operation, kinds),
    }
  return { ...rules, [operation]: changeRule(random, schema, operation, rule as Json, kinds) }
}

/** Another array: with a changed rule, another order, or one rule more or less. */
function changeRules(
  random: Random,
  schema: SmallCollection['schema'],
  operation: RuleOperation,
  rules: readonly Json[],
  kinds: Kinds,
): readonly Json[] {
  const place = random.integer(0, rules.length - 1)
  const [rule = {}] = rules.slice(place)
  if (random.chance(0.3)) return [...rules].reverse()
  if (random.chance(0.2)) return [...rules, randomRule(random, schema, operation, kinds)]
  if (random.chance(0.2) && rules.length > 1) return rules.filter((one) => one !== rule)
  return rules.map((one) => (one === rule ? changeRule(random, schema, operation, rule, kinds) : one))
}

function changeRule(
  random: Random,
  schema: SmallCollection['schema'],
  operation: RuleOperation,
  rule: Json,
  kinds: Kinds,
): Json {
  const parts = Object.keys(rule)
  const part = random.pick(parts.length > 0 ? parts : [operation === 'delete' ? 'where' : 'pick'])
  const { [part]: _, ...rest } = rule
  return random.chance(0.2) ? rest : { ...rest, [part]: randomPart(random, schema, part, operation, kinds) }
}
