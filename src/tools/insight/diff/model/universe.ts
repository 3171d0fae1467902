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
import { isList, type ListMark, type Value, type Variable } from '../solver/variable.js'
import type { DocumentOperation } from '../types.js'
import { documentWith } from './conditions.js'
import { type CandidateValues, createCandidates, fieldKey, findComparisons } from './group-values.js'
import { bodyKey, callerKey, storedKey, TIME } from './sources.js'

/** The possible values of callers. */
export interface CallerValues {
  /** The fields of accounts, if the service keeps accounts; `null` if the host identifies callers. */
  readonly fields: ReadonlyMap<string, Field> | null
  readonly claims: ReadonlyMap<string, Claim>
}

/** Whether a claim has a value for every signed-in caller, or for the anonymous caller if `isSignedIn` is false. */
const isAlwaysThere = ({ where }: Claim, isSignedIn: boolean): boolean =>
  where.kind === 'fixed' ||
  where.variables.every((name) => !name.startsWith(USER) || (isSignedIn && name === `${USER}_id`))

/** Returns the mark of a list on which there are no conditions yet. */
const listOf = (of: ListMark['of']): ListMark => ({ of, hasElement: false })

/** The type of list elements, by the type of the field. */
const KIND_OF = {
  string: 'string',
  timestamp: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
} as const satisfies { readonly [type in ComparableType]: ListMark['of'] }

/**
 * Returns the variable of a caller's field. The values of a claim are lists. Any other field has the values that the
 * schema of `users` accepts, or any value if the host identifies callers.
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

/** A collection in the two configurations. */
export interface Sides {
  readonly before: Collection
  readonly after: Collection
}

/** The operation and the kind of caller for which variables are created. */
export interface AskedOperation {
  readonly isSignedIn: boolean
  readonly operation: DocumentOperation
}

/** The variables of a search for a counterexample, in the order in which they should be decided. */
export interface Universe {
  /** The variables if the document may be any stored document. */
  readonly variables: ReadonlyMap<string, Variable>
  /** The variables if `before` would store the document unchanged. */
  readonly fresh: ReadonlyMap<string, Variable>
  /** False if there may be more values, because the patterns have too many states. */
  readonly isWhole: boolean
  /** Whether there may be documents that `before` would not store unchanged. */
  readonly hasStale: boolean
}

const NULL: Value = { sample: null }

const known = new WeakMap<Sides, ReadonlyMap<string, Field>>()

/** Returns the fields of both sides by path. If both sides have a field, that of `after` is used. */
export function fieldsOf(sides: Sides): ReadonlyMap<string, Field> {
  const all = [sides.before.fields, sides.after.fields, SYSTEM_FIELD_PLANS]
  const fields = known.get(sides) ?? new Map(all.flatMap(collect))
  known.set(sides, fields)
  return fields
}

const collect = (fields: readonly Field[]): readonly (readonly [string, Field])[] =>
  fields.flatMap((field) => [[field.path, field] as const, ...collect(field.properties)])

/** Returns a function that creates the universes of two sides. All universes share the values of fields. */
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
    // A DELETE has body variables too, because conditions about rules refer to them.
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

/** Returns the undeclared names in rules, and one more undeclared name. Empty if documents cannot have such names. */
export function findUndeclared({ before, after }: Sides, rules: readonly Rule[]): readonly string[] {
  if (!before.additionalProperties || !after.additionalProperties) return []
  const declared = new Set([...before.fields, ...after.fields, ...SYSTEM_FIELD_PLANS].map(({ name }) => name))
  const named = rules.flatMap(({ properties: { pick, omit }, set }) => [
    ...(pick ?? []),
    ...omit,
    ...set.keys(),
  ])
  const isFree = (name: string): boolean =>
    !declared.has(name) && !before.reserved.has(name) && !after.reserved.has(name)
  const undeclared = [...new Set(named)].filter(isFree)
  const other = ['another', 'another1', 'another2'].find((name) => isFree(name) && !named.includes(name))
  return other === undefined ? undeclared : [...undeclared, other]
}

/** Caches which values are valid, because each operation needs the same decisions. */
const validity = new WeakMap<Collection['validate'], Map<string, boolean>>()

/** The part of a value that is checked. `inside` checks only the elements of a list, so the list may be too short. */
type ValueExtent = 'whole' | 'inside'

/** Whether a collection would store this value of a field unchanged. */
function isValid(collection: Collection, path: string, value: unknown, part: ValueExtent = 'whole'): boolean {
  const known = validity.get(collection.validate) ?? new Map<string, boolean>()
  validity.set(collection.validate, known)
  const key = part + path + JSON.stringify(value)
  const verdict = known.get(key) ?? isStored(collection, path, value, part)
  known.set(key, verdict)
  return verdict
}

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

/** Whether a new document has a value for a field, from its body or by default. */
type Presence = 'always' | 'with its object' | 'maybe'

function presenceOf(field: Field | undefined, path: string): Presence {
  const isDefault = field !== undefined && Object.hasOwn(field.definition, 'default')
  if (path.includes('.')) return isDefault || isRequiredInside(field) ? 'with its object' : 'maybe'
  return isDefault || field?.definition.required === true ? 'always' : 'maybe'
}

/** Whether a field is required inside an object. */
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

/** Returns the values of `own` that a collection would store; `own` itself if it would store all of them. */
function takenBy(collection: Collection, { path }: Field, own: Possible): Possible {
  const values = own.values.filter((value) => typeof value === 'object' || isValid(collection, path, value))
  const elements = own.elements.filter((element) => isValid(collection, path, [element], 'inside'))
  const hasElement = own.hasElement === true || (own.values.some(isList) && !isValid(collection, path, []))
  const isAll = values.length === own.values.length && elements.length === own.elements.length
  return isAll && hasElement === (own.hasElement === true) ? own : { values, elements, hasElement }
}

/**
 * Returns the variable of a field in the body. Its values are valid in both configurations, because a difference in
 * validity is a difference of schemas, not of permissions.
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
