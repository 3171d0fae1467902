import { explainWith } from '../../src/tools/insight/explain/explain-request.js'
import type { Explanation, JudgedRule, Suggestion } from '../../src/tools/insight/explain/explanation.js'
import type { Asked } from './explained-requests.js'

type Json = { readonly [name: string]: unknown }
type Config = Asked['config']
type OperationName = 'create' | 'read' | 'update' | 'delete'

/** A grant to one subject, counted as CONTRACT.md §8 orders them. */
interface Grant {
  readonly config: Config
  readonly names: number
  readonly conditions: number
}

const VALUES: { readonly [field: string]: readonly unknown[] } = {
  s: ['a', 'b', 'c', null],
  t: ['a', 'b', 'c', null],
  n: [0, 1, null],
  tags: ['a', 'b', 'c', null],
  'o.x': ['a', 'b', 'c', null],
  o: [null],
  createdBy: ['ann', 'bob', null],
  createdAt: ['2026-11-20T08:00:00.000Z'],
}

/**
 * Looks for a grant that lets a request for one document or one list through and that comes before the suggested one:
 * every candidate is written down and tried, whether or not it could be of use. Gives what was found, or `undefined`.
 */
export async function findEarlier(asked: Asked, explanation: Explanation): Promise<unknown> {
  const { missing, suggestion } = explanation
  if (!missing) return undefined
  for (const subject of subjectsOf(asked, missing.collection, missing.document)) {
    const isSuggested = subject === suggestion?.subject
    for await (const grant of grantsTo(subject, missing.collection, asked, explanation)) {
      if (isSuggested && !isBefore(grant, suggestion)) continue
      const tried = await tryExplain(asked, grant.config)
      if (!tried) continue
      const { answer } = tried
      const dropped = answer.ignored.filter((name) => isDeclared(grant.config, missing.collection, name))
      const isAnswered = answer.status === 304 || (answer.status >= 200 && answer.status < 300)
      if (isAnswered && dropped.length === 0) return { subject, ...grant }
    }
    if (isSuggested) return undefined
  }
  return undefined
}

const isBefore = (grant: Grant, { names, conditions }: Suggestion): boolean =>
  grant.names < names.length || (grant.names === names.length && grant.conditions < conditions)

const explain = (asked: Asked, config: Config): Promise<Explanation> =>
  explainWith(config, asked.request, { authenticate: true }, null)

const collectionOf = (config: Config, name: string): Json => config.collections[name] ?? {}
const permissionsOf = (config: Config, name: string): Json => collectionOf(config, name).permissions as Json

const isDeclared = (config: Config, collection: string, name: string): boolean => {
  const { schema, additionalProperties } = collectionOf(config, collection)
  return Object.hasOwn(schema as Json, name) || (additionalProperties === true && !name.startsWith('_'))
}

function subjectsOf({ config, request }: Asked, collection: string, id: string | null): readonly string[] {
  const { caller, documents } = request
  if (caller === null) return ['*']
  const stored: readonly Json[] = documents[collection] ?? []
  const isOwn = stored.some(({ _id, createdBy }) => _id === id && createdBy === caller.id)
  const roles = (caller.roles ?? []).filter((role) => role !== 'owner')
  const named = Object.keys(permissionsOf(config, collection)).filter((name) => roles.includes(name))
  return [...(isOwn ? ['owner'] : []), ...new Set([...named, ...roles]), 'user', '*']
}

/** All candidates: where the right to read is missing too, it comes first. */
async function* grantsTo(
  subject: string,
  collection: string,
  asked: Asked,
  { missing, judgements }: Explanation,
): AsyncGenerator<Grant> {
  if (!missing) return
  const rules = judgements.at(-1)?.rules ?? []
  for (const grant of rulesFor({ subject, collection, operation: missing.operation, rules, ...asked })) {
    yield grant
    if (missing.operation !== 'read' || asked.request.method === 'GET') continue
    const next = await tryExplain(asked, grant.config)
    if (!next?.missing || next.missing.operation === 'read') continue
    const [last] = next.judgements.slice(-1)
    const { operation } = next.missing
    for (const both of rulesFor({
      subject,
      collection,
      operation,
      rules: last?.rules ?? [],
      ...asked,
      config: grant.config,
    }))
      yield { ...both, names: both.names + grant.names, conditions: both.conditions + grant.conditions }
  }
}

async function tryExplain(asked: Asked, config: Config): Promise<Explanation | undefined> {
  try {
    return await explain(asked, config)
  } catch {
    return undefined
  }
}

interface Place {
  readonly config: Config
  readonly request: Asked['request']
  readonly subject: string
  readonly collection: string
  readonly operation: OperationName
  /** What was said of the subjects' rules before. */
  readonly rules: readonly JudgedRule[]
}

type Written = Json | readonly Json[] | null

/** What a grant says of an operation: `{}` for `true`. */
function written(grant: unknown, operation: OperationName): Written {
  if (typeof grant === 'boolean') return grant ? {} : null
  if (typeof grant !== 'object' || grant === null) return null
  const { pick, omit, ...others } = grant as Json
  if (pick ?? omit) {
    const plain: { [name: string]: Json } = {
      read: {},
      create: { ...(pick ? { pick } : {}), ...(omit ? { omit } : {}) },
    }
    return plain[operation] ?? null
  }
  const rule = others[operation]
  return rule === true ? {} : rule ? (rule as Json | readonly Json[]) : null
}

const TRIED = ['check', 'set', 'faults', 'idle', 'granted', 'granted-before']

/** The index of a rule in an array. */
const indexOf = ({ pointer }: Pick<JudgedRule, 'pointer'>): number => Number(pointer?.split('/').at(-1))

/** The first of some rules that was tried, those that drop nothing first; else the first there is. */
function firstTried(having: readonly JudgedRule[], operation: OperationName): JudgedRule | undefined {
  const tried = having.filter(({ verdict }) => TRIED.includes(verdict))
  const whole = tried.find(
    ({ dropped }) => !dropped.some(({ why }) => ['pick', 'omit', 'role'].includes(why)),
  )
  return (operation === 'read' ? undefined : (whole ?? tried[0])) ?? having[0]
}

/** The rule that decided so far. */
function decisive({ config, collection, operation, rules }: Place): Json | null {
  const having = rules.filter(({ verdict }) => !['silent', 'refused', 'outranked'].includes(verdict))
  const grants = permissionsOf(config, collection)
  const inOrder =
    operation === 'read'
      ? Object.keys(grants).flatMap((name) => having.filter(({ subject }) => subject === name))
      : having
  const first = firstTried(inOrder, operation)
  const found = first ? written(grants[first.subject], operation) : null
  return first && Array.isArray(found) ? (found[indexOf(first)] ?? null) : (found as Json | null)
}

function* rulesFor(place: Place): Generator<Grant> {
  const { config, collection, operation, subject } = place
  if (subject === 'owner' && operation === 'create') return
  const grants = permissionsOf(config, collection)
  const all = written(grants[subject], operation)
  const mine = firstTried(
    place.rules.filter((rule) => rule.subject === subject),
    operation,
  )
  // Of several rules, the first that was tried is widened.
  const index = Array.isArray(all) && mine ? indexOf(mine) : 0
  const own: Json | null = Array.isArray(all) ? (all[index] ?? null) : (all as Json | null)
  const base =
    own ?? decisive(place) ?? (operation === 'create' || operation === 'update' ? { pick: [] } : {})
  const names = droppedBy(base, place)
  const namings: Json[] = names.length > 0 ? [base, accept(base, names, config, collection)] : [base]
  for (const [i, named] of namings.entries()) {
    for (const [where, more] of widened(named.where as Json | undefined)) {
      const check = (named.check ?? (operation === 'update' ? where : undefined)) as Json | undefined
      for (const [checked, most] of widened(check)) {
        const rule = {
          ...named,
          ...(where ? { where } : {}),
          ...(most > 0 ? { check: checked } : {}),
        }
        const changed = Array.isArray(all) ? all.with(index, rule) : rule
        yield {
          config: grant(config, collection, subject, { [operation]: changed }),
          names: i === 0 ? 0 : names.length,
          conditions: more + most,
        }
      }
    }
  }
}

/** A condition as it is, and with each equality besides. */
function* widened(
  condition: Json | undefined,
): Generator<readonly [condition: Json | undefined, conditions: number]> {
  yield [condition, 0]
  if (!condition) return
  for (const field of new Set(
    JSON.stringify(condition).match(/(?<=")(?:s|t|n|tags|o|o\.x|createdBy|createdAt)(?=":)/g),
  ))
    for (const value of VALUES[field] ?? []) yield [{ $or: [condition, { [field]: value }] }, 1]
}

/** The names of the body that a rule does not accept, though one could. */
function droppedBy(
  { pick, omit, set }: Json,
  { config, collection, request, operation }: Place,
): readonly string[] {
  if (operation !== 'create' && operation !== 'update') return []
  return Object.keys((request.body ?? {}) as Json).filter((name) => {
    if (!isDeclared(config, collection, name) || Object.hasOwn((set ?? {}) as Json, name)) return false
    const isPicked = pick === undefined || (pick as string[]).includes(name)
    const isOmitted = (omit as string[] | undefined)?.includes(name) ?? false
    const isRole = name === config.auth.roleField && collection === 'users' && pick === undefined
    return !isPicked || isOmitted || isRole
  })
}

function accept(rule: Json, names: readonly string[], config: Config, collection: string): Json {
  const left = ((rule.omit ?? []) as string[]).filter((name) => !names.includes(name))
  const role = config.auth.roleField as string | undefined
  const all = Object.keys(collectionOf(config, collection).schema as Json)
  const pick =
    rule.pick ??
    (role !== undefined && names.includes(role) ? all.filter((name) => name !== role) : undefined)
  return {
    ...rule,
    ...(pick ? { pick: [...new Set([...(pick as string[]), ...names])] } : {}),
    omit: left,
  }
}

/** The configuration in which a subject has a rule besides its others. */
function grant(config: Config, collection: string, subject: string, rule: Json): Config {
  const grants = permissionsOf(config, collection)
  const operations = ['create', 'read', 'update', 'delete'] as const
  const others = operations.flatMap((operation): [string, unknown][] => {
    if (subject === 'owner' && operation === 'create') return []
    const one = grants[subject]
    const isMentioned =
      typeof one === 'boolean' || Object.hasOwn((one ?? {}) as Json, operation) || written(one, operation)
    return isMentioned ? [[operation, written(one, operation) ?? false]] : []
  })
  return {
    ...config,
    collections: {
      ...config.collections,
      [collection]: {
        ...collectionOf(config, collection),
        permissions: { ...grants, [subject]: { ...Object.fromEntries(others), ...rule } },
      },
    },
  }
}
