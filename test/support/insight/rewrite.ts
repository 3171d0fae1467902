import type { Random } from '../../../src/tools/testing/adapter/fuzz/random.js'
import { FIELDS, type Json, type SmallCollection, type SmallSchema } from './universe.js'

/** Says the same in other words: what it means for one document is the same for every caller and request. */
export function rewrite(random: Random, { schema, permissions }: SmallCollection): SmallCollection {
  const grants = Object.entries(permissions).map(([subject, grant]): readonly [string, unknown] => [
    subject,
    rewriteGrant(random, schema, { subject, grant }),
  ])
  // The order of roles counts; `*`, `user` and `owner` have places of their own.
  const isRole = ([subject]: readonly [string, unknown]): boolean => !['*', 'user', 'owner'].includes(subject)
  const others = grants.filter((entry) => !isRole(entry))
  const ordered = random.chance(0.5) ? [...grants.filter(isRole), ...others] : grants
  return { schema, permissions: Object.fromEntries(ordered) }
}

const ALL = ['create', 'read', 'update', 'delete'] as const

function rewriteGrant(
  random: Random,
  schema: SmallSchema,
  { subject, grant }: { readonly subject: string; readonly grant: unknown },
): unknown {
  const operations = ALL.filter((operation) => subject !== 'owner' || operation !== 'create')
  if (typeof grant === 'boolean') {
    if (random.chance(0.4)) return grant
    return Object.fromEntries(operations.map((operation) => [operation, grant]))
  }
  const written = grant as Json
  if (Object.hasOwn(written, 'pick') || Object.hasOwn(written, 'omit'))
    return random.chance(0.4) ? written : { read: true, create: rewriteLists(random, written, false) }
  const rules = Object.entries(written).map(([operation, rule]): [string, unknown] => {
    if (rule === true) return [operation, random.chance(0.5) ? true : {}]
    if (rule === false) return [operation, false]
    const rewritten = [rule as Json | readonly Json[]]
      .flat()
      .map((one) => rewriteRule(random, schema, { operation, rule: one }))
    const [only] = rewritten
    // An array of one is that rule; the order counts for writes alone.
    if (rewritten.length === 1) return [operation, random.chance(0.3) ? rewritten : only]
    return [operation, operation === 'read' || operation === 'delete' ? rewritten.reverse() : rewritten]
  })
  const added: [string, unknown][] =
    !Object.hasOwn(written, 'read') && subject !== '*' && random.chance(0.2) ? [['read', NEVER]] : []
  return Object.fromEntries([...rules, ...added])
}

/** No whole number lies between. */
const NEVER: Json = { where: { b: { $gt: 1, $lt: 2 } } }

function rewriteRule(
  random: Random,
  schema: SmallSchema,
  { operation, rule }: { readonly operation: string; readonly rule: Json },
): Json {
  const rewritten: { [part: string]: unknown } = { ...rewriteLists(random, rule, operation === 'read') }
  const { where } = rewritten
  for (const part of ['where', 'check'] as const)
    if (rewritten[part] !== undefined)
      rewritten[part] = rewriteFilter(random, schema, rewritten[part] as Json)
  if (operation === 'update' && rule.check === undefined && where !== undefined && random.chance(0.4))
    rewritten.check = rewriteFilter(random, schema, where as Json)
  if (where === undefined && operation !== 'create' && operation !== 'update' && random.chance(0.3))
    rewritten.where = random.pick<Json>([{}, { $or: [{ a: null }, { a: { $exists: true } }] }])
  return rewritten
}

/** `pick` as an `omit` of all others, or the other way round. */
function rewriteLists(random: Random, rule: Json, isRead: boolean): Json {
  const { pick, omit, ...rest } = rule as { pick?: readonly string[]; omit?: readonly string[] }
  if ((pick === undefined && omit === undefined) || random.chance(0.4)) return rule
  const names = [...FIELDS, ...(isRead ? ['createdAt', 'updatedAt', 'createdBy'] : [])]
  const included = names.filter((name) => (pick?.includes(name) ?? true) && !omit?.includes(name))
  return random.chance(0.5)
    ? { ...rest, pick: included.reverse() }
    : { ...rest, omit: names.filter((name) => !included.includes(name)) }
}

function rewriteFilter(random: Random, schema: SmallSchema, filter: Json): Json {
  const parts = Object.entries(filter).map(([name, condition]): Json => {
    if (name !== '$or' && name !== '$and') return rewriteCondition(random, schema, { name, condition })
    const groups = (condition as readonly Json[]).map((group) => rewriteFilter(random, schema, group))
    return { [name]: random.chance(0.5) ? [...groups].reverse() : [...groups, groups[0]] }
  })
  if (random.chance(0.4)) return { $and: parts.length > 0 ? parts.reverse() : [{}] }
  const names = parts.flatMap(Object.keys)
  if (new Set(names).size < names.length) return { $and: parts }
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)))
}

interface Condition {
  readonly name: string
  readonly condition: unknown
}

/** One condition in other words. What names the caller stays: it is false for a caller who lacks it. */
function rewriteCondition(random: Random, schema: SmallSchema, { name, condition }: Condition): Json {
  const isOperators = typeof condition === 'object' && condition !== null
  const operators = Object.entries(isOperators ? (condition as Json) : { $eq: condition })
  if (Object.keys(operators).length === 0 || random.chance(0.3)) return { [name]: condition }
  const parts = operators.map(([operator, operand]) =>
    rewriteOperator(random, schema, { name, operator, operand }),
  )
  return parts.length === 1 && parts[0] ? parts[0] : { $and: parts }
}

interface Operator {
  readonly name: string
  readonly operator: string
  readonly operand: unknown
}

function rewriteOperator(random: Random, schema: SmallSchema, { name, operator, operand }: Operator): Json {
  const isOfCaller = JSON.stringify(operand).includes('"$user.')
  const isWhole = schema[name as keyof SmallSchema]?.type === 'integer' && typeof operand === 'number'
  const bound = isWhole ? (operand as number) : 0
  const ways: Json[] = [{ [name]: { [operator]: operand } }]
  if (operator === '$eq') ways.push({ [name]: { $in: [operand] } }, { [name]: operand })
  if (operator === '$ne') ways.push({ [name]: { $nin: [operand] } })
  if (operand === null && operator === '$eq') ways.push({ [name]: { $exists: false } })
  if (operator === '$exists') ways.push({ [name]: operand ? { $ne: null } : null })
  if (operator === '$in' && Array.isArray(operand) && operand.length > 0 && !isOfCaller)
    ways.push({ $or: operand.map((one) => ({ [name]: one })) })
  if (operator === '$nin' && Array.isArray(operand) && operand.length > 0 && !isOfCaller)
    ways.push({ $and: operand.map((one) => ({ [name]: { $ne: one } })) })
  if (isWhole && operator === '$gt') ways.push({ [name]: { $gte: bound + 1 } })
  if (isWhole && operator === '$gte') ways.push({ [name]: { $gt: bound - 1 } })
  if (isWhole && operator === '$lt') ways.push({ [name]: { $lte: bound - 1 } })
  if (isWhole && operator === '$lte') ways.push({ $or: [{ [name]: { $lt: bound } }, { [name]: bound }] })
  const way = random.pick(ways)
  // What is absorbed changes nothing.
  return random.chance(0.15) ? { $or: [way, { $and: [way, { c: { $exists: true } }] }] } : way
}
