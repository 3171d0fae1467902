import { FIELDS, type Json, NOW, type SmallCaller, type SmallSchema } from './universe.js'

/** The rules of a written configuration (CONTRACT.md §5), for the judge. Imports nothing of the library. */

/** Whether a condition holds for a document, for a caller. */
export type Holds = (caller: SmallCaller | null) => (document: Json) => boolean

export interface SmallRule {
  readonly subject: string
  /** The index among the rules of the subject. */
  readonly place: number
  readonly includes: (name: string) => boolean
  readonly where: Holds
  readonly check: Holds
  readonly set: Json
  /** The values of `set`; `undefined` where the caller lacks one. */
  readonly bind: (caller: SmallCaller | null) => Json | undefined
}

type Operation = 'create' | 'read' | 'update' | 'delete'

/** By operation, the subjects that mention it, each with its rules; none where they refuse it. */
export type RuleTable = { readonly [operation in Operation]: ReadonlyMap<string, readonly SmallRule[]> }

export const isRole = (subject: string): boolean => !['*', 'user', 'owner'].includes(subject)

/** Whether a subject is the caller, perhaps as the owner of a document. */
export const appliesTo = (subject: string, caller: SmallCaller | null): boolean =>
  subject === '*' ||
  (caller !== null && (subject === 'user' || subject === 'owner' || caller.roles.includes(subject)))

const EVERYWHERE: Holds = () => () => true

export function tableOf(schema: SmallSchema, permissions: Json): RuleTable {
  const table = {
    create: new Map<string, readonly SmallRule[]>(),
    read: new Map<string, readonly SmallRule[]>(),
    update: new Map<string, readonly SmallRule[]>(),
    delete: new Map<string, readonly SmallRule[]>(),
  }
  for (const [subject, grant] of Object.entries(permissions)) {
    for (const operation of ['create', 'read', 'update', 'delete'] as const) {
      const written = rulesIn(grant, operation)
      if (written === undefined || (subject === 'owner' && operation === 'create')) continue
      const rules = written.map((rule, place) => compileRule(schema, { subject, place }, operation, rule))
      table[operation].set(subject, rules)
    }
  }
  return table
}

/** What a grant says of an operation; `undefined` where it does not mention it. */
function rulesIn(grant: unknown, operation: Operation): readonly Json[] | undefined {
  if (grant === true) return [{}]
  if (grant === false) return []
  const written = grant as Json
  if (written.pick !== undefined || written.omit !== undefined) {
    if (operation === 'read') return [{}]
    return operation === 'create' ? [written] : undefined
  }
  const rule = written[operation]
  if (rule === undefined) return undefined
  if (typeof rule === 'boolean') return rule ? [{}] : []
  return Array.isArray(rule) ? rule : [rule as Json]
}

function compileRule(
  schema: SmallSchema,
  { subject, place }: Pick<SmallRule, 'subject' | 'place'>,
  operation: Operation,
  rule: Json,
): SmallRule {
  const pick = rule.pick as readonly string[] | undefined
  const omit = rule.omit as readonly string[] | undefined
  const written = rule.where === undefined ? EVERYWHERE : compileFilter(schema, rule.where as Json)
  const where: Holds =
    subject === 'owner'
      ? (caller) => {
          const holds = written(caller)
          return (document) => caller !== null && document.createdBy === caller.id && holds(document)
        }
      : written
  const byDefault = operation === 'update' ? written : EVERYWHERE
  const set = (rule.set as Json | undefined) ?? {}
  return {
    subject,
    place,
    includes: (name) => (pick === undefined || pick.includes(name)) && !omit?.includes(name),
    where: forEachCaller(where),
    check: forEachCaller(rule.check === undefined ? byDefault : compileFilter(schema, rule.check as Json)),
    set,
    bind: forEachCaller((caller) => bindSet(set, caller)),
  }
}

function bindSet(set: Json, caller: SmallCaller | null): Json | undefined {
  const entries = Object.entries(set).map(([name, value]) => [name, resolve(value, caller)] as const)
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries)
}

const NEVER = (): boolean => false

function compileFilter(schema: SmallSchema, filter: Json): Holds {
  const parts = Object.entries(filter).map(([name, condition]): Holds => {
    if (name === '$or' || name === '$and') {
      const groups = (condition as readonly Json[]).map((group) => compileFilter(schema, group))
      return (caller) => {
        const held = groups.map((group) => group(caller))
        return name === '$or'
          ? (document) => held.some((holds) => holds(document))
          : (document) => held.every((holds) => holds(document))
      }
    }
    const isOperators = typeof condition === 'object' && condition !== null
    return compileConditions(schema, name, isOperators ? (condition as Json) : { $eq: condition })
  })
  return (caller) => {
    const held = parts.map((part) => part(caller))
    return (document) => held.every((holds) => holds(document))
  }
}

function compileConditions(schema: SmallSchema, name: string, operators: Json): Holds {
  const type = typeOf(schema, name)
  const tests = Object.entries(operators).filter(([operator]) => operator !== '$options')
  return (caller) => {
    const bound = tests.map(([operator, operand]) => {
      const value = operator === '$regex' ? operand : resolve(operand, caller)
      return { operator, value, isFit: isFit(type, operator, operand, value) }
    })
    if (bound.some(({ isFit: fits }) => !fits)) return NEVER
    return (document) => bound.every(({ operator, value }) => holdsFor(document[name], operator, value))
  }
}

const typeOf = (schema: SmallSchema, name: string): string => {
  const field = FIELDS.find((one) => one === name)
  return field === undefined ? 'string' : schema[field].type === 'array' ? 'string' : schema[field].type
}

/** What a caller has for an operand; `undefined` where anything in it is lacking. */
function resolve(operand: unknown, caller: SmallCaller | null): unknown {
  if (Array.isArray(operand)) {
    const values = operand.map((element) => resolve(element, caller))
    return values.includes(undefined) ? undefined : values
  }
  if (operand === '$now') return NOW
  if (typeof operand !== 'string' || !operand.startsWith('$user.')) return operand
  if (operand === '$user._id') return caller?.id
  return caller?.[operand.slice('$user.'.length)] ?? undefined
}

/** Whether what a caller holds can be compared with the field, in this operator. */
function isFit(type: string, operator: string, written: unknown, value: unknown): boolean {
  if (operator === '$regex' || !namesCaller(written)) return true
  const isList = operator === '$in' || operator === '$nin'
  if (isList !== Array.isArray(value)) return false
  const values = isList ? (value as readonly unknown[]) : [value]
  return values.every(
    (one) => one === null || (type === 'integer' ? Number.isInteger(one) : typeof one === type),
  )
}

const namesCaller = (written: unknown): boolean =>
  Array.isArray(written) ? written.some(namesCaller) : typeof written === 'string' && written.startsWith('$')

/** Whether a stored value meets a condition; one on a list is met when any element meets it. */
function holdsFor(stored: unknown, operator: string, value: unknown): boolean {
  const isNull = (one: unknown): boolean => one === undefined || one === null
  const equals = (wanted: unknown): boolean =>
    isNull(wanted) ? isNull(stored) : Array.isArray(stored) ? stored.includes(wanted) : stored === wanted
  switch (operator) {
    case '$eq':
      return equals(value)
    case '$ne':
      return !equals(value)
    case '$in':
      return (value as readonly unknown[]).some(equals)
    case '$nin':
      return !(value as readonly unknown[]).some(equals)
    case '$exists':
      return isNull(stored) !== value
    case '$regex':
      return elementsOf(stored).some((one) => typeof one === 'string' && new RegExp(String(value)).test(one))
    default:
      return elementsOf(stored).some((one) => isOrdered(one, operator, value))
  }
}

const elementsOf = (stored: unknown): readonly unknown[] => (Array.isArray(stored) ? stored : [stored])

function isOrdered(one: unknown, operator: string, bound: unknown): boolean {
  if (typeof one !== typeof bound || typeof one === 'boolean' || one === undefined) return false
  const [a, b] = [one as string, bound as string]
  switch (operator) {
    case '$gt':
      return a > b
    case '$gte':
      return a >= b
    case '$lt':
      return a < b
    case '$lte':
      return a <= b
    default:
      throw new Error(`no operator ${operator}`)
  }
}

/** Computes what depends on the caller alone once for each: thousands of questions have the same ones. */
export function forEachCaller<T>(
  compute: (caller: SmallCaller | null) => T,
): (caller: SmallCaller | null) => T {
  const known = new Map<SmallCaller | null, T>()
  return (caller) => {
    const found = known.get(caller) ?? compute(caller)
    known.set(caller, found)
    return found
  }
}
