import {
  FIELDS,
  type FieldName,
  type Json,
  NOW,
  type SmallCaller,
  type SmallSchema,
  STORED_ID,
} from './universe.js'
import type { SmallRule } from './written-rules.js'

/**
 * What comes of a body under the rules that may be tried (CONTRACT.md §4, §5), for the judge. Imports nothing of the
 * library.
 */

/** What a caller may see of a document. */
export interface Sight {
  readonly isThere: boolean
  readonly shows: (name: string) => boolean
}

export interface Refusal {
  readonly status: number
  readonly code: string
}

export const FORBIDDEN: Refusal = { status: 403, code: 'forbidden' }

/** The declared fields of a document that are there. */
export function fieldsOf(document: Json): Json {
  const fields: { [name: string]: unknown } = {}
  for (const name of FIELDS) if (document[name] !== undefined) fields[name] = document[name]
  return fields
}

/** Whether two values are the same in JSON. */
export const isEqual = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))

/** What comes of a body under one rule. */
export type Applied =
  | { readonly fields: Json; readonly writes: boolean }
  | { readonly faults: readonly string[] }
  | 'refused'

/** A rule that is tried on a body, and what it takes of it. */
interface Trial {
  readonly rule: SmallRule
  readonly kept: Json
  /** What is dropped of the body, sorted. */
  readonly ignored: readonly string[]
  /** Whether the rule drops nothing of the body. */
  readonly isWhole: boolean
}

const orders = new WeakMap<readonly SmallRule[], Map<Json, readonly Trial[]>>()

/** The rules as they are tried on a body: first those that drop nothing. Computed once for the same rules and body. */
function orderOf(rules: readonly SmallRule[], body: Json): readonly Trial[] {
  const known = orders.get(rules) ?? new Map<Json, readonly Trial[]>()
  orders.set(rules, known)
  const found = known.get(body)
  if (found) return found
  const trials = rules.map((rule) => {
    const names = Object.keys(body).filter((name) => !Object.hasOwn(rule.set, name))
    const accepted = names.filter((name) => rule.includes(name))
    const kept: Json = Object.fromEntries(accepted.map((name) => [name, body[name]]))
    const ignored = Object.keys(body)
      .filter((name) => !Object.hasOwn(kept, name))
      .sort()
    return { rule, kept, ignored, isWhole: accepted.length === names.length }
  })
  const ordered = [...trials.filter(({ isWhole }) => isWhole), ...trials.filter(({ isWhole }) => !isWhole)]
  known.set(body, ordered)
  return ordered
}

export type Chosen =
  | { readonly fields: Json; readonly writes: boolean; readonly ignored: readonly string[] }
  | (Refusal & { readonly errors: readonly string[] })

/**
 * The first rule that drops nothing and runs, else the first that runs; but where one that drops nothing was refused, none
 * that drops all of the body.
 */
export function chooseRule(
  rules: readonly SmallRule[],
  body: Json,
  apply: (rule: SmallRule, kept: Json) => Applied,
): Chosen {
  let isRefused = false
  for (const [i, { rule, kept, ignored, isWhole }] of orderOf(rules, body).entries()) {
    if (isRefused && !isWhole && Object.keys(kept).length === 0) continue
    const applied = apply(rule, kept)
    if (applied === 'refused') {
      isRefused ||= isWhole
      continue
    }
    if ('fields' in applied) return { ...applied, ignored }
    const own = applied.faults.filter((fault) => !isOfVariable(rule, fault))
    if (own.length > 0 && i === 0) {
      const errors = own.map((fault) => `/${fault}`).sort()
      return { status: 400, code: 'validation_failed', errors }
    }
    isRefused ||= own.length === 0 && isWhole
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
  const fields: { [name: string]: unknown } = {}
  for (const name of FIELDS) {
    const value = values[name] === null && schema[name].nullable ? undefined : values[name]
    const completed = value === undefined && names.includes(name) ? schema[name].default : value
    if (completed !== undefined) fields[name] = completed
  }
  return fields
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

/** Applies a rule to the body of a create. */
export function applyCreate(
  schema: SmallSchema,
  rule: SmallRule,
  kept: Json,
  caller: SmallCaller | null,
): Applied {
  const set = rule.bind(caller)
  if (!set) return 'refused'
  const fields = complete(schema, { ...kept, ...set }, FIELDS)
  const faults = FIELDS.flatMap((name) =>
    schema[name].isFilled && fields[name] === undefined ? [] : faultOf(schema, name, fields[name]),
  )
  if (faults.length > 0) return { faults }
  const system = { _id: STORED_ID, createdAt: NOW, updatedAt: NOW, createdBy: caller?.id ?? null }
  return rule.check(caller)({ ...fields, ...system }) ? { fields, writes: true } : 'refused'
}

export interface Update {
  readonly rule: SmallRule
  readonly kept: Json
  readonly caller: SmallCaller | null
  readonly document: Json
  readonly sight: Sight
  readonly isPut: boolean
}

/** Applies a rule to the body of an update. */
export function applyUpdate(schema: SmallSchema, update: Update): Applied {
  const { rule, kept, caller, document, sight, isPut } = update
  const stored = fieldsOf(document)
  if (!isPut && Object.keys(kept).length === 0) return { fields: stored, writes: false }
  const set = rule.bind(caller)
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
