import type { Claim, Collection } from '../../../../core/config/plan.js'
import { SYSTEM_FIELD_PLANS } from '../../../../core/fields/compile-fields.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { normalise } from '../../../../core/fields/schema/normalise.js'
import type { ComparableType } from '../../../../core/filter/filter.js'
import { isEqualJson } from '../../../../core/json/equality.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import { isUuid } from '../../../../core/json/uuid.js'
import type { Rule } from '../../../../core/permissions/grants.js'
import { USER } from '../../../../core/query/variable.js'
import { isList, KIND_OF, type ListMark, listOf, type Value, type Variable } from '../solver/variable.js'
import type { DocumentOperation } from '../types.js'
import { documentWith } from './conditions.js'
import { type CandidateValues, createCandidates, fieldKey, findComparisons } from './group-values.js'
import { bodyKey, callerKey, storedKey, TIME } from './sources.js'
import { createVerdicts } from './verdicts.js'

/** The possible values of callers. */
export interface CallerValues {
  /** Their fields, if the service keeps the accounts; `null` if the host names callers. */
  readonly fields: ReadonlyMap<string, Field> | null
  readonly claims: ReadonlyMap<string, Claim>
}

/** Whether all signed-in callers, or all callers, have a claim. */
const isAlwaysThere = ({ where }: Claim, isSignedIn: boolean): boolean =>
  where.kind === 'fixed' ||
  where.variables.every((name) => !name.startsWith(USER) || (isSignedIn && name === `${USER}_id`))

/**
 * The possible values of a caller's field: lists for claims; else anything if the host names callers, and the values
 * that the schema of `users` accepts if it does not.
 */
function callerVariable(
  key: string,
  candidates: CandidateValues,
  { fields: callerFields, claims }: CallerValues,
  isSignedIn: boolean,
): Variable {
  const parent = null
  const claim = claims.get(key.slice(callerKey('').length))
  const isThere = claim !== undefined && isAlwaysThere(claim, isSignedIn)
  if (claim && (isSignedIn || isThere)) {
    const { type } = claim.taken
    const lists = [listOf(KIND_OF[type]), ...(isThere ? [] : [undefined])]
    return { key, values: lists, elements: candidates.ofType(key, type), parent }
  }
  if (!isSignedIn) return { key, values: [undefined], elements: [], parent }
  if (key === callerKey('_id')) return { key, values: candidates.ofType(key, 'string'), elements: [], parent }
  const path = key.slice(callerKey('').length)
  const field = callerFields?.get(path)
  if (callerFields && field) {
    const type = (field.items ?? field).fieldType
    const elements = type.isScalar ? candidates.ofType(key, type.valueType) : []
    const values = type.isScalar ? (field.items ? [listOf(KIND_OF[type.valueType])] : elements) : []
    return { key, values: [...values, undefined], elements, parent }
  }
  const types = new Set<ComparableType>([...candidates.typesOf(key), 'string', 'integer'])
  types.delete('boolean')
  const elements = [...new Set([...types].flatMap((type) => candidates.ofType(key, type)))]
  const lists: ListMark[] = [
    { of: 'string', hasElement: true },
    { of: 'number', hasElement: true },
    { of: null, hasElement: false },
  ]
  const values = [...elements, 0.5, true, false, ...lists, undefined]
  return { key, values, elements, parent }
}

/** The same collection in two configurations. */
export interface Sides {
  readonly before: Collection
  readonly after: Collection
}

/** The operation and the kind of caller of a question; the body of a PATCH removes fields by `null`. */
export interface AskedOperation {
  readonly isSignedIn: boolean
  readonly operation: DocumentOperation
}

/** The variables of a question, in the best order to decide them. */
export interface Universe {
  /** For every document that may be stored. */
  readonly variables: ReadonlyMap<string, Variable>
  /** For documents that `before` would store unchanged. */
  readonly fresh: ReadonlyMap<string, Variable>
  /** False if a pattern has too many states: there may be more values. */
  readonly isWhole: boolean
  /** Whether there are documents that `before` would not store unchanged. */
  readonly hasStale: boolean
}

const NULL: Value = { sample: null }

const known = new WeakMap<Sides, ReadonlyMap<string, Field>>()

/** The fields of both sides by path, those of `after` first. */
export function fieldsOf(sides: Sides): ReadonlyMap<string, Field> {
  const all = [sides.before.fields, sides.after.fields, SYSTEM_FIELD_PLANS]
  const fields = known.get(sides) ?? new Map(all.flatMap(collect))
  known.set(sides, fields)
  return fields
}

const collect = (fields: readonly Field[]): readonly (readonly [string, Field])[] =>
  fields.flatMap((field) => [[field.path, field] as const, ...collect(field.properties)])

/** Creates the universes of two collections under some rules; the values of fields are found once for all of them. */
export function createUniverses(sides: Sides, rules: readonly Rule[], callers: CallerValues) {
  const fields = fieldsOf(sides)
  const comparisons = findComparisons(rules, [...fields.values()])
  const candidates = createCandidates(comparisons, fields)
  const undeclared = findUndeclared(sides, rules)
  const [former, latter] = [new Map(collect(sides.before.fields)), new Map(collect(sides.after.fields))]
  const found = [...fields.values()].map((field) => {
    const own = valuesOf(field, candidates)
    const fresh = takenBy(sides.before, field, own)
    const stored = storedVariable(field, own, 'maybe')
    const presence = presenceOf(former.get(field.path), field.path)
    const isFree = fresh === own && presence === 'maybe'
    const freshStored = isFree ? stored : storedVariable(field, fresh, presence)
    return { field, fresh, stored, freshStored, isFree }
  })
  const hasStale = !found.every(({ isFree }) => isFree)
  const findBodies = () => found.map(({ field, fresh }) => takenBy(sides.after, field, fresh))
  let bodies: ReturnType<typeof findBodies> | undefined
  return ({ isSignedIn, operation }: AskedOperation): Universe => {
    const variables = new Map<string, Variable>()
    const fresh = new Map<string, Variable>()
    const add = (variable: Variable, one = variable): void => {
      variables.set(variable.key, variable)
      fresh.set(one.key, one)
    }
    for (const key of [callerKey('_id'), ...comparisons.callerKeys])
      add(callerVariable(key, candidates, callers, isSignedIn))
    add({ key: TIME, values: candidates.ofType(TIME, 'timestamp'), elements: [], parent: null })
    const isPatch = operation === 'patch'
    // A DELETE has body variables too: conditions about rules refer to them.
    const hasBody = operation !== 'read'
    if (hasBody) bodies ??= findBodies()
    for (const [i, { field, stored, freshStored }] of found.entries()) {
      add(stored, freshStored)
      const fills = [former, latter].some((one) => isRequiredInside(one.get(field.path)))
      if (hasBody) add(bodyVariable(field, bodies?.[i] ?? NO_VALUES, { isPatch, fills }))
    }
    for (const name of undeclared) {
      const values = [{ sample: 'x' }, { sample: 'y' }, undefined]
      add({ key: storedKey(name), values, elements: [], parent: null })
      const given = isPatch ? [...values, NULL] : values
      if (hasBody) add({ key: bodyKey(name), values: given, elements: [], parent: null })
    }
    return { variables, fresh, isWhole: candidates.isWhole(), hasStale }
  }
}

/** Names of rules that no schema declares, and one that no rule names, if documents may have such. */
export function findUndeclared({ before, after }: Sides, rules: readonly Rule[]): readonly string[] {
  if (!before.additionalProperties || !after.additionalProperties) return []
  const declared = new Set([...before.fields, ...after.fields, ...SYSTEM_FIELD_PLANS].map(({ name }) => name))
  const named = rules.flatMap(({ properties: { pick, omit }, set }) => [
    ...(pick ?? []),
    ...omit,
    ...set.keys(),
  ])
  const undeclared = [...new Set(named)].filter((name) => !declared.has(name))
  const other = ['another', 'another1', 'another2'].find(
    (name) => !declared.has(name) && !named.includes(name),
  )
  return other === undefined ? undeclared : [...undeclared, other]
}

const remember = createVerdicts<Collection['validate']>()

/** The part of a value that matters: all of it, or only its elements, so that a list may be too short. */
type ValueExtent = 'whole' | 'inside'

/** Whether a collection would store this value of a field. */
const isValid = (
  collection: Collection,
  path: string,
  value: unknown,
  part: ValueExtent = 'whole',
): boolean =>
  remember(collection.validate, part + path + JSON.stringify(value), () =>
    isStored(collection, path, value, part),
  )

function isStored(
  { fields, validate }: Collection,
  path: string,
  value: unknown,
  part: ValueExtent,
): boolean {
  if (path === '_id') return isUuid(String(value))
  const [top = path] = path.split('.')
  const declared = fields.find(({ name }) => name === top)
  if (!declared) return true
  const pointer = path.split('.').map(toPointerPart).join('')
  const body = documentWith(path, value)
  return (
    isEqualJson(normalise(declared, body[top]), body[top]) &&
    !validate(body, { limit: Number.POSITIVE_INFINITY }).some(
      (fault) => (part === 'whole' && fault.path === pointer) || fault.path.startsWith(`${pointer}/`),
    )
  )
}

/** Whether a new document has a field, given or by default. */
type Presence = 'always' | 'with its object' | 'maybe'

function presenceOf(field: Field | undefined, path: string): Presence {
  const isDefault = field !== undefined && Object.hasOwn(field.definition, 'default')
  if (path.includes('.')) return isDefault || isRequiredInside(field) ? 'with its object' : 'maybe'
  return isDefault || field?.definition.required === true ? 'always' : 'maybe'
}

/** Whether an object always has a field of it. */
export const isRequiredInside = (field: Field | undefined): boolean =>
  field?.path.includes('.') === true && field.definition.required === true

/** The possible values of a field, and of its elements if it is a list. */
type Possible = Pick<Variable, 'values' | 'elements' | 'hasElement'>

const NO_VALUES: Possible = { values: [], elements: [] }

function valuesOf({ fieldType, items, type, path }: Field, candidates: CandidateValues): Possible {
  const key = fieldKey(path)
  if (fieldType.isScalar) return { values: candidates.ofType(key, fieldType.valueType), elements: [] }
  if (items?.fieldType.isScalar) {
    const { valueType } = items.fieldType
    return { values: [listOf(KIND_OF[valueType])], elements: candidates.ofType(key, valueType) }
  }
  if (type === 'hash') return { values: [{ sample: 'a secret of 16' }], elements: [] }
  if (type === 'array') return { values: [{ sample: [] }], elements: [] }
  if (type === 'object') return { values: [{ sample: {} }], elements: [] }
  return { values: [{ sample: { one: 1 } }, { sample: { one: 2 } }], elements: [] }
}

const parentOf = (path: string, keyOf: (path: string) => string): string | null =>
  path.includes('.') ? keyOf(path.slice(0, path.lastIndexOf('.'))) : null

const NEVER_MISSING: readonly string[] = ['_id', 'createdAt', 'updatedAt']

const storedVariable = ({ path }: Field, possible: Possible, presence: Presence): Variable => ({
  ...possible,
  key: storedKey(path),
  values:
    presence === 'always' || NEVER_MISSING.includes(path) ? possible.values : [...possible.values, undefined],
  parent: parentOf(path, storedKey),
  fills: presence === 'with its object',
})

/** The possible values of a field that a collection would store; the same object if that is all of them. */
function takenBy(collection: Collection, { path }: Field, own: Possible): Possible {
  const values = own.values.filter((value) => typeof value === 'object' || isValid(collection, path, value))
  const elements = own.elements.filter((element) => isValid(collection, path, [element], 'inside'))
  const hasElement = own.hasElement === true || (own.values.some(isList) && !isValid(collection, path, []))
  const isAll = values.length === own.values.length && elements.length === own.elements.length
  return isAll && hasElement === (own.hasElement === true) ? own : { values, elements, hasElement }
}

/**
 * A body has the values that both configurations would store; otherwise their schemas differ, not their permissions.
 */
function bodyVariable(
  { path, definition }: Field,
  possible: Possible,
  { isPatch, fills }: { readonly isPatch: boolean; readonly fills: boolean },
): Variable {
  const takesNull = isPatch ? !path.includes('.') : definition.nullable === true
  return {
    ...possible,
    key: bodyKey(path),
    values: [...possible.values, undefined, ...(takesNull ? [NULL] : [])],
    parent: parentOf(path, bodyKey),
    fills,
  }
}
