import {
  FIELDS,
  type FieldName,
  type Json,
  NOW,
  type SmallCaller,
  type SmallCollection,
  type SmallConfig,
  type SmallRequest,
  type SmallSchema,
  STORED_ID,
} from './universe.js'
import { appliesTo, forEachCaller, isRole, type SmallRule, tableOf } from './written-rules.js'

/**
 * What a request must be answered and must leave behind, computed from the contract (§2, §4, §5) and the written
 * configuration alone. Imports nothing of the library: it is the second opinion.
 */

/** An answer, and what is stored afterwards. */
export interface SmallAnswer {
  readonly status: number
  readonly code?: string
  /** The faults of the body, each as its path and its code, sorted. */
  readonly errors: readonly string[]
  /** The document as its caller may read it, without `_id`; absent where none is answered. */
  readonly shown?: Json
  /** The declared fields that are stored afterwards; `null` where there is no document. */
  readonly stored: Json | null
  /** The names of the body that were dropped, sorted. */
  readonly ignored: readonly string[]
}

/** Judges one request of a caller, where this document is the only one that is stored. */
export type Judge = (caller: SmallCaller | null, document: Json, request: SmallRequest) => SmallAnswer

const SHOWN: readonly string[] = [...FIELDS, 'createdAt', 'updatedAt', 'createdBy']

/** Creates the judge of a configuration. */
export function createJudge(config: SmallConfig): Judge {
  const judges = new Map(
    Object.entries(config.collections).map(([name, collection]) => [name, judgeCollection(collection)]),
  )
  return (caller, document, request) => {
    const judge = judges.get(request.collection)
    if (!judge) throw new Error(`no collection ${request.collection}`)
    return judge(caller, document, request)
  }
}

function fieldsOf(document: Json): Json {
  const fields: { [name: string]: unknown } = {}
  for (const name of FIELDS) if (document[name] !== undefined) fields[name] = document[name]
  return fields
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** What a caller may see of a document. */
interface Sight {
  readonly isThere: boolean
  readonly shows: (name: string) => boolean
}

type Refusal = Required<Pick<SmallAnswer, 'status' | 'code'>>

const UNAUTHENTICATED: Refusal = { status: 401, code: 'unauthenticated' }
const FORBIDDEN: Refusal = { status: 403, code: 'forbidden' }
const NOT_FOUND: Refusal = { status: 404, code: 'not_found' }

const denied = (caller: SmallCaller | null): Refusal => (caller === null ? UNAUTHENTICATED : FORBIDDEN)

function judgeCollection({ schema, permissions }: SmallCollection): Judge {
  const table = tableOf(schema, permissions)
  const readersOf = forEachCaller((caller) =>
    [...table.read.values()].flatMap((rule) =>
      rule && appliesTo(rule.subject, caller) ? [{ rule, matches: rule.where(caller) }] : [],
    ),
  )
  const look = (caller: SmallCaller | null, document: Json): Sight => {
    const matching = readersOf(caller).flatMap(({ rule, matches }) => (matches(document) ? [rule] : []))
    return { isThere: matching.length > 0, shows: (name) => matching.some((rule) => rule.includes(name)) }
  }
  const show = ({ shows }: Sight, document: Json): Json => {
    const shown: { [name: string]: unknown } = {}
    for (const name of SHOWN) if (document[name] !== undefined && shows(name)) shown[name] = document[name]
    return shown
  }
  /** The rules that may be tried, in their order. */
  const findWriters = (operation: 'create' | 'update' | 'delete', caller: SmallCaller | null) => {
    const mentions = table[operation]
    const roles = [...mentions.keys()].filter((subject) => isRole(subject) && appliesTo(subject, caller))
    const decisive = roles.length > 0 ? roles : caller && mentions.has('user') ? ['user'] : ['*']
    const subjects = caller ? [...decisive, 'owner'] : ['*']
    return subjects.flatMap((subject) => mentions.get(subject) ?? [])
  }
  const writersOf = {
    create: forEachCaller((caller) => findWriters('create', caller)),
    update: forEachCaller((caller) => findWriters('update', caller)),
    delete: forEachCaller((caller) => findWriters('delete', caller)),
  }

  return (caller, document, { operation, body = {} }) => {
    const before = operation === 'create' ? null : fieldsOf(document)
    const refuse = ({ status, code }: Refusal, errors: readonly string[] = []): SmallAnswer => ({
      ...{ status, code, errors },
      stored: before,
      ignored: [],
    })
    if (operation === 'read') {
      const readers = readersOf(caller)
      if (readers.length === 0) return refuse(caller === null ? UNAUTHENTICATED : NOT_FOUND)
      const sight = look(caller, document)
      if (!sight.isThere) return refuse(NOT_FOUND)
      return { status: 200, errors: [], shown: show(sight, document), stored: before, ignored: [] }
    }
    if (operation === 'create') {
      const rules = writersOf.create(caller)
      if (rules.length === 0) return refuse(denied(caller))
      const chosen = chooseRule(rules, body, (rule, kept) => applyCreate(schema, rule, kept, caller))
      if (!('fields' in chosen)) return refuse(chosen, chosen.errors)
      const created = {
        ...chosen.fields,
        ...{ _id: STORED_ID, createdAt: NOW, updatedAt: NOW, createdBy: caller?.id ?? null },
      }
      const sight = look(caller, created)
      const shown = sight.isThere ? show(sight, created) : {}
      return { status: 201, errors: [], shown, stored: chosen.fields, ignored: chosen.ignored }
    }
    const kind = operation === 'delete' ? 'delete' : 'update'
    const rules = writersOf[kind](caller)
    if (rules.length === 0 && caller === null) return refuse(UNAUTHENTICATED)
    const sight = look(caller, document)
    if (!sight.isThere) return refuse(NOT_FOUND)
    const fitting = rules.filter((rule) => rule.where(caller)(document))
    if (fitting.length === 0) return refuse(denied(caller))
    if (operation === 'delete') return { status: 204, errors: [], stored: null, ignored: [] }
    const chosen = chooseRule(fitting, body, (rule, kept) =>
      applyUpdate(schema, { rule, kept, caller, document, sight, isPut: operation === 'put' }),
    )
    if (!('fields' in chosen)) return refuse(chosen, chosen.errors)
    const updatedAt = chosen.writes ? NOW : document.updatedAt
    const { _id, createdAt, createdBy } = document
    const updated = { ...chosen.fields, _id, createdAt, createdBy, updatedAt }
    const after = look(caller, updated)
    const shown = after.isThere ? show(after, updated) : {}
    return { status: 200, errors: [], shown, stored: chosen.fields, ignored: chosen.ignored }
  }
}

/** What comes of a body under one rule. */
type Applied =
  | { readonly fields: Json; readonly writes: boolean }
  | { readonly faults: readonly string[] }
  | 'refused'

/** The first rule that drops nothing and runs, else the first that runs. */
function chooseRule(
  rules: readonly SmallRule[],
  body: Json,
  apply: (rule: SmallRule, kept: Json) => Applied,
):
  | { readonly fields: Json; readonly writes: boolean; readonly ignored: readonly string[] }
  | (Refusal & { readonly errors: readonly string[] }) {
  const trials = rules.map((rule) => {
    const names = Object.keys(body).filter((name) => !Object.hasOwn(rule.set, name))
    const accepted = names.filter((name) => rule.includes(name))
    const kept: Json = Object.fromEntries(accepted.map((name) => [name, body[name]]))
    return { rule, kept, isWhole: accepted.length === names.length }
  })
  const ordered = [...trials.filter(({ isWhole }) => isWhole), ...trials.filter(({ isWhole }) => !isWhole)]
  for (const [i, { rule, kept }] of ordered.entries()) {
    const applied = apply(rule, kept)
    if (applied === 'refused') continue
    if ('fields' in applied) {
      const ignored = Object.keys(body)
        .filter((name) => !Object.hasOwn(kept, name))
        .sort()
      return { ...applied, ignored }
    }
    const own = applied.faults.filter((fault) => !isOfVariable(rule, fault))
    if (own.length > 0 && i === 0) {
      const errors = own.map((fault) => `/${fault}`).sort()
      return { status: 400, code: 'validation_failed', errors }
    }
  }
  return { ...FORBIDDEN, errors: [] }
}

/** A value that a caller lacks in a fit form is no fault of the body. */
const isOfVariable = ({ set }: SmallRule, fault: string): boolean => {
  const [name = ''] = fault.split(' ')
  return Object.hasOwn(set, name) && String(set[name]).startsWith('$')
}

/** Puts defaults where these fields are missing, and drops what `nullable` makes of `null`. */
function complete(schema: SmallSchema, values: Json, names: readonly FieldName[]): Json {
  return fieldsOf(
    Object.fromEntries(
      FIELDS.map((name) => {
        const value = values[name] === null && schema[name].nullable ? undefined : values[name]
        return [name, value === undefined && names.includes(name) ? schema[name].default : value]
      }),
    ),
  )
}

const isOfType = ({ type, enum: choice }: SmallDefinition, value: unknown): boolean => {
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type && (choice === undefined || choice.includes(value as string))
}

type SmallDefinition = SmallSchema[FieldName]

/** The fault of a value, as its field and its code. */
function faultOf(schema: SmallSchema, name: FieldName, value: unknown): readonly string[] {
  if (value === undefined) return schema[name].required ? [`${name} required`] : []
  if (isOfType(schema[name], value)) return []
  const isOther = typeof value === 'string' && schema[name].type === 'string'
  return [`${name} ${isOther ? 'not_allowed' : 'wrong_type'}`]
}

function applyCreate(schema: SmallSchema, rule: SmallRule, kept: Json, caller: SmallCaller | null): Applied {
  const set = bindSet(rule, caller)
  if (!set) return 'refused'
  const fields = complete(schema, { ...kept, ...set }, FIELDS)
  const faults = FIELDS.flatMap((name) => faultOf(schema, name, fields[name]))
  if (faults.length > 0) return { faults }
  const system = { _id: STORED_ID, createdAt: NOW, updatedAt: NOW, createdBy: caller?.id ?? null }
  return rule.check(caller)({ ...fields, ...system }) ? { fields, writes: true } : 'refused'
}

/** The values of a `set`; `undefined` where the caller lacks one. */
function bindSet({ set }: SmallRule, caller: SmallCaller | null): Json | undefined {
  const entries = Object.entries(set).map(([name, value]) => {
    if (value === '$now') return [name, NOW] as const
    if (typeof value !== 'string' || !value.startsWith('$user.')) return [name, value] as const
    const held = value === '$user._id' ? caller?.id : caller?.[value.slice('$user.'.length)]
    return [name, held ?? undefined] as const
  })
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries)
}

interface Update {
  readonly rule: SmallRule
  readonly kept: Json
  readonly caller: SmallCaller | null
  readonly document: Json
  readonly sight: Sight
  readonly isPut: boolean
}

function applyUpdate(schema: SmallSchema, update: Update): Applied {
  const { rule, kept, caller, document, sight, isPut } = update
  const stored = fieldsOf(document)
  if (!isPut && Object.keys(kept).length === 0) return { fields: stored, writes: false }
  const set = bindSet(rule, caller)
  if (!set) return 'refused'
  const given: Json = { ...kept, ...set }
  const names = FIELDS.filter((name) => Object.hasOwn(given, name))
  const replaced = isPut
    ? FIELDS.filter((name) => !schema[name].immutable && sight.shows(name) && rule.includes(name))
    : []
  const put = (before: Json, some: readonly FieldName[]): Json => {
    const after: { [name: string]: unknown } = { ...before }
    for (const name of replaced) after[name] = undefined
    for (const name of some) after[name] = given[name] === null && !isPut ? undefined : given[name]
    return complete(schema, after, isPut ? [...replaced, ...some] : [])
  }
  // What is hidden counts as missing.
  const before = fieldsOf(
    Object.fromEntries(FIELDS.map((name) => [name, sight.shows(name) ? stored[name] : undefined])),
  )
  const closed = names.filter((name) => schema[name].immutable && !sight.shows(name))
  const open = names.filter((name) => !closed.includes(name))
  const after = put(before, open)
  const faults = FIELDS.flatMap((name): readonly string[] => {
    if (closed.includes(name)) return [`${name} immutable`]
    const isUnseen = open.includes(name) && !sight.shows(name)
    if (isUnseen && schema[name].required && after[name] === undefined) return [`${name} required`]
    if (isEqual(before[name], after[name])) return []
    return schema[name].immutable ? [`${name} immutable`] : faultOf(schema, name, after[name])
  })
  if (faults.length > 0) return { faults }
  const fields = put(stored, names)
  const { _id, createdAt, createdBy } = document
  const written = { ...fields, _id, createdAt, createdBy, updatedAt: NOW }
  return rule.check(caller)(written) ? { fields, writes: true } : 'refused'
}
