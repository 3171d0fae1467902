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

/** The same collection in two configurations. */
export interface Sides {
  readonly before: Collection
  readonly after: Collection
}

/** What is asked about: who asks, how a body is read, and which documents may be stored. */
export interface Question {
  readonly isSignedIn: boolean
  /** Whether a PATCH is asked, whose body removes fields by `null`. */
  readonly isPatch: boolean
  /** Whether only documents count that `before` would accept. */
  readonly isFresh: boolean
}

/** The variables of a question, and whether they are all that there can be. */
export interface Universe {
  readonly variables: ReadonlyMap<string, Variable>
  /** False where a pattern has too many states. */
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
  const isFree = (field: Field): boolean => {
    const { values, elements } = valuesOf(field, candidates)
    const found = [...values.filter((value) => typeof value !== 'object'), ...elements.map((one) => [one])]
    return (
      !isRequired(sides.before, field.path) && found.every((value) => isValid(sides.before, field, value))
    )
  }
  let hasStale: boolean | undefined
  const kept = new Map<string, Variable>()
  const remember = (kind: string, { path }: Field, create: () => Variable): Variable => {
    const key = `${kind} ${path}`
    const variable = kept.get(key) ?? create()
    kept.set(key, variable)
    return variable
  }
  return (question: Question): Universe => {
    hasStale ??= ![...fields.values()].every(isFree)
    const variables = new Map<string, Variable>()
    const add = (variable: Variable): void => void variables.set(variable.key, variable)
    for (const field of fields.values()) {
      add(remember(`${question.isFresh}`, field, () => storedVariable(sides, field, candidates, question)))
      add(remember(`${question.isPatch}?`, field, () => bodyVariable(sides, field, candidates, question)))
    }
    for (const name of findUndeclared(sides, rules)) {
      const values = [{ sample: 'x' }, { sample: 'y' }, undefined]
      add({ key: storedKey(name), values, elements: [], parent: null })
      add({
        key: bodyKey(name),
        values: question.isPatch ? [...values, NULL] : values,
        elements: [],
        parent: null,
      })
    }
    for (const key of [callerKey('_id'), ...comparisons.callerKeys])
      add(callerVariable(key, candidates, callerFields, question))
    add({ key: TIME, values: candidates.ofType(TIME, 'timestamp'), elements: [], parent: null })
    return { variables, isWhole: candidates.isWhole(), hasStale }
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

/** Whether a collection would store this value of a field. */
function isValid({ fields, validate }: Collection, { path }: Field, value: unknown): boolean {
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

/** The values of a field, and the elements that it may have where it is a list. */
function valuesOf(field: Field, candidates: Candidates): Pick<Variable, 'values' | 'elements'> {
  const { fieldType, items, type, path } = field
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

function storedVariable(sides: Sides, field: Field, candidates: Candidates, { isFresh }: Question): Variable {
  const { path } = field
  const { values, elements } = valuesOf(field, candidates)
  const isKept = (value: unknown): boolean => !isFresh || isValid(sides.before, field, value)
  const isThere = NEVER_MISSING.includes(path) || (isFresh && isRequired(sides.before, path))
  const own = values.filter((value) => typeof value === 'object' || isKept(value))
  return {
    key: storedKey(path),
    values: isThere ? own : [...own, undefined],
    elements: elements.filter((element) => isKept([element])),
    parent: parentOf(path, storedKey),
  }
}

/** A body holds what both configurations would store; otherwise their schemas differ, not their permissions. */
function bodyVariable(sides: Sides, field: Field, candidates: Candidates, { isPatch }: Question): Variable {
  const { path } = field
  const { values, elements } = valuesOf(field, candidates)
  const isKept = (value: unknown): boolean =>
    isValid(sides.before, field, value) && isValid(sides.after, field, value)
  const own = values.filter((value) => typeof value === 'object' || isKept(value))
  const takesNull = isPatch ? !path.includes('.') : field.definition.nullable === true
  return {
    key: bodyKey(path),
    values: [...own, undefined, ...(takesNull ? [NULL] : [])],
    elements: elements.filter((element) => isKept([element])),
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
