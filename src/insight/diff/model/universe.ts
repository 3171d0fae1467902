import type { Collection } from '../../../config/plan.js'
import { SYSTEM_FIELD_PLANS } from '../../../fields/compile-fields.js'
import type { Field } from '../../../fields/field-type.js'
import type { ComparableType } from '../../../filter/filter.js'
import { isEqualJson } from '../../../json/equality.js'
import { toPointerPart } from '../../../json/pointer.js'
import type { Rule } from '../../../permissions/grants.js'
import { normalise } from '../../../schema/normalise.js'
import type { ListMark, Value, Variable } from '../solver/variable.js'
import { fieldKey, findComparisons } from './compared.js'
import { documentWith } from './filters.js'
import { type Candidates, createCandidates } from './group-values.js'
import { bodyKey, callerKey, storedKey, TIME } from './sources.js'
import { createVerdicts } from './verdicts.js'

/** The same collection in two configurations. */
export interface Sides {
  readonly before: Collection
  readonly after: Collection
}

/** What is asked about: who asks, and how a body is read. */
export interface Question {
  readonly isSignedIn: boolean
  /** Whether a PATCH is asked, whose body removes fields by `null`. */
  readonly isPatch: boolean
}

/** The variables of a question, in the order in which they are best decided. */
export interface Universe {
  /** With every document that may be stored. */
  readonly variables: ReadonlyMap<string, Variable>
  /** With those alone that `before` would accept. */
  readonly fresh: ReadonlyMap<string, Variable>
  /** False where a pattern has too many states: there may be more values. */
  readonly isWhole: boolean
  /** Whether there are documents that `before` would refuse. */
  readonly hasStale: boolean
}

/** The fields of callers, where the service keeps the accounts; `null` where the host names them. */
export type CallerFields = ReadonlyMap<string, Field> | null

const NULL: Value = { sample: null }

/** The fields of both sides by path, those of `after` first. */
export const fieldsOf = ({ before, after }: Sides): ReadonlyMap<string, Field> =>
  new Map([...collect(before.fields), ...collect(after.fields), ...collect(SYSTEM_FIELD_PLANS)])

const collect = (fields: readonly Field[]): readonly (readonly [string, Field])[] =>
  fields.flatMap((field) => [[field.path, field] as const, ...collect(field.properties)])

/** Creates the universes of two collections under some rules. */
export function createUniverses(sides: Sides, rules: readonly Rule[], callerFields: CallerFields) {
  const fields = fieldsOf(sides)
  const comparisons = findComparisons(rules, [...fields.values()])
  const candidates = createCandidates(comparisons, fields)
  const found = new Map([...fields].map(([path, field]) => [path, valuesOf(field, candidates)]))
  const isFree = ({ path }: Field): boolean => {
    const { values, elements } = found.get(path) ?? NO_VALUES
    const known = [...values.filter((value) => typeof value !== 'object'), ...elements.map((one) => [one])]
    return !isRequired(sides.before, path) && known.every((value) => isValid(sides.before, path, value))
  }
  const hasStale = ![...fields.values()].every(isFree)
  return (question: Question): Universe => {
    const variables = new Map<string, Variable>()
    const fresh = new Map<string, Variable>()
    const add = (variable: Variable, one = variable): void => {
      variables.set(variable.key, variable)
      fresh.set(one.key, one)
    }
    for (const key of [callerKey('_id'), ...comparisons.callerKeys])
      add(callerVariable(key, candidates, callerFields, question))
    add({ key: TIME, values: candidates.ofType(TIME, 'timestamp'), elements: [], parent: null })
    for (const field of fields.values()) {
      const own = found.get(field.path) ?? NO_VALUES
      add(storedVariable(field, own), freshVariable(sides, field, own))
      add(bodyVariable(sides, field, own, question))
    }
    for (const name of findUndeclared(sides, rules)) {
      const values = [{ sample: 'x' }, { sample: 'y' }, undefined]
      add({ key: storedKey(name), values, elements: [], parent: null })
      const given = question.isPatch ? [...values, NULL] : values
      add({ key: bodyKey(name), values: given, elements: [], parent: null })
    }
    return { variables, fresh, isWhole: candidates.isWhole(), hasStale }
  }
}

/** Names of rules that no schema declares, and one that no rule names, where documents may have such. */
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

/** Whether a collection would store this value of a field. */
const isValid = (collection: Collection, path: string, value: unknown): boolean =>
  remember(collection.validate, path + JSON.stringify(value), () => isStored(collection, path, value))

function isStored({ fields, validate }: Collection, path: string, value: unknown): boolean {
  const [top = path] = path.split('.')
  const declared = fields.find(({ name }) => name === top)
  if (!declared) return true
  const pointer = path.split('.').map(toPointerPart).join('')
  const body = documentWith(path, value)
  return (
    isEqualJson(normalise(declared, body[top]), body[top]) &&
    !validate(body, { limit: Number.POSITIVE_INFINITY }).some(
      (fault) => fault.path === pointer || fault.path.startsWith(`${pointer}/`),
    )
  )
}

const isRequired = ({ fields }: Collection, path: string): boolean =>
  fields.some(({ name, definition }) => name === path && definition.required === true)

const listOf = (of: ListMark['of']): ListMark => ({ of, hasElement: false })

/** What a field may be, and the elements that it may have where it is a list. */
type Possible = Pick<Variable, 'values' | 'elements'>

const NO_VALUES: Possible = { values: [], elements: [] }

function valuesOf({ fieldType, items, type, path }: Field, candidates: Candidates): Possible {
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

const KIND_OF = {
  string: 'string',
  timestamp: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
} as const satisfies { readonly [type in ComparableType]: ListMark['of'] }

const parentOf = (path: string, keyOf: (path: string) => string): string | null =>
  path.includes('.') ? keyOf(path.slice(0, path.lastIndexOf('.'))) : null

const NEVER_MISSING: readonly string[] = ['_id', 'createdAt', 'updatedAt']

const storedVariable = ({ path }: Field, { values, elements }: Possible): Variable => ({
  key: storedKey(path),
  values: NEVER_MISSING.includes(path) ? values : [...values, undefined],
  elements,
  parent: parentOf(path, storedKey),
})

function freshVariable({ before }: Sides, { path }: Field, { values, elements }: Possible): Variable {
  const isThere = NEVER_MISSING.includes(path) || isRequired(before, path)
  const own = values.filter((value) => typeof value === 'object' || isValid(before, path, value))
  return {
    key: storedKey(path),
    values: isThere ? own : [...own, undefined],
    elements: elements.filter((element) => isValid(before, path, [element])),
    parent: parentOf(path, storedKey),
  }
}

/** A body holds what both configurations would store; otherwise their schemas differ, not their permissions. */
function bodyVariable(sides: Sides, field: Field, own: Possible, { isPatch }: Question): Variable {
  const { path } = field
  const isKept = (value: unknown): boolean =>
    isValid(sides.before, path, value) && isValid(sides.after, path, value)
  const values = own.values.filter((value) => typeof value === 'object' || isKept(value))
  const takesNull = isPatch ? !path.includes('.') : field.definition.nullable === true
  return {
    key: bodyKey(path),
    values: [...values, undefined, ...(takesNull ? [NULL] : [])],
    elements: own.elements.filter((element) => isKept([element])),
    parent: parentOf(path, bodyKey),
  }
}

/** What a caller may have: anything, where the host says it; what the schema of `users` says, where it does not. */
function callerVariable(
  key: string,
  candidates: Candidates,
  callerFields: CallerFields,
  { isSignedIn }: Question,
): Variable {
  const parent = null
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
