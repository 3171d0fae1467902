import { compileFields } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { reservedNames } from '../fields/names.js'
import { isFreeName, isSystemField, suggest } from '../fields/schema/names.js'
import type { BodyValidator } from '../fields/schema/validator.js'
import { type Filter, or } from '../filter/filter.js'
import { isEqualJson } from '../json/equality.js'
import { isObject, readOwn } from '../json/own-properties.js'
import { readPointer, toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import {
  ALL_PROPERTIES,
  type CompiledPermissions,
  EVERYONE,
  includesProperty,
  isRole,
  OPERATIONS,
  OWNER,
  type PropertySet,
  type Rule,
  type RuleOperation,
  rulesOf,
} from '../permissions/grants.js'
import { claimIn, findVariables, type JudgeVariable } from '../query/variable.js'
import { ANYWHERE, bindWhere, narrowWhere, parseWhere, type Where, type WhereScope } from '../query/where.js'
import type {
  CollectionConfig,
  GrantConfig,
  JsonObject,
  RuleConfig,
  RulesConfig,
  WhereConfig,
} from '../types.js'
import { judgeSample } from './judge-sample.js'
import { UNSURE } from './shape/settle-shape.js'

/** The parts of a collection against which the values of a `set` are checked. */
interface SetScope {
  readonly fields: readonly Field[]
  readonly validate: BodyValidator
  readonly judgeVariable: JudgeVariable
  readonly givesDefaults?: boolean
}

/**
 * Returns the reasons why a property can never be set to a value: one for each variable or other part at
 * fault.
 */
function judgeSet(name: string, value: unknown, scope: SetScope): readonly string[] {
  const declared = scope.fields.filter((field) => field.name === name)
  const fields = declared.length > 0 ? declared : UNDECLARED
  return [...judgeVariables(fields, value, scope.judgeVariable), ...judgeLiterals(name, value, scope)]
}

/** The field of an undeclared property, which may have any value. */
const UNDECLARED = compileFields({ any: { type: 'json' } })

/**
 * Checks the variables in a value. `fields` contains the possible fields of the value, or none if no field is
 * known.
 */
function judgeVariables(fields: readonly Field[], value: unknown, judge: JudgeVariable): readonly string[] {
  const known = fields.filter(({ definition }) => definition !== UNSURE)
  if (!Array.isArray(value) && !isObject(value))
    return findVariables(value).flatMap((variable) => judge(variable, undefined, known) ?? [])
  return Object.entries(value).flatMap(([name, inner]) => {
    const inside = known.flatMap((field) => findInside(field, name))
    return judgeVariables(inside, inner, judge)
  })
}

/** Returns the field of a property or an element inside a field. */
const findInside = ({ items, properties }: Field, name: string): Field | readonly Field[] =>
  items ?? properties.find((property) => property.name === name) ?? UNDECLARED

/** Returns the reasons why the literal parts of a value do not fit its field, independent of its variables. */
function judgeLiterals(name: string, value: unknown, scope: SetScope): readonly string[] {
  const at = toPointerPart(name)
  const sample: JsonObject = { [name]: value }
  const hasVariables = findVariables(value).length > 0
  return judgeSample(scope, sample, at)
    .filter(({ path, code }) => {
      if (!hasVariables || code === 'unknown_property') return true
      // A value with variables is merged into the stored value, so required properties may be missing.
      const found = readPointer(sample, path)
      return code !== 'required' && (typeof found !== 'string' || findVariables(found).length === 0)
    })
    .map(({ path, message }) => `is not a valid value of the field: ${path.slice(at.length)} ${message}`)
}

/** The parts of a collection against which the names and values of a rule are checked. */
export interface RuleScope extends WhereScope, SetScope {
  readonly additionalProperties: boolean
  readonly roleField: string | null
  /** The field that only the service may write. */
  readonly verifiedField: string | null
  /** The condition for showing a document to callers without a role; `null` for no condition. */
  readonly shownIf: Where | null
}

/** Compiles the grants of a collection to a table of rules by operation and subject (CONTRACT.md §5). */
export function compilePermissions(
  permissions: NonNullable<CollectionConfig['permissions']>,
  scope: RuleScope,
  report: ConfigReport,
): CompiledPermissions {
  const empty = (): Map<string, readonly Rule[]> => new Map()
  const table = { create: empty(), read: empty(), update: empty(), delete: empty() }
  for (const [subject, grant] of Object.entries(permissions)) {
    for (const { operation, rule, place } of expandGrant(grant)) {
      const at = report.at(subject).within(place)
      if (subject !== OWNER || operation !== 'create') {
        const own = { operation, rule, place, isWhole: grant === true }
        table[operation].set(subject, [
          ...rulesOf(table[operation], subject),
          ...(rule ? [compileRule(subject, { ...own, rule }, at, scope)] : []),
        ])
      }
      // A grant of `true` or `false` covers only the operations that owners can perform, so it is not a
      // fault.
      else if (typeof grant !== 'boolean')
        at.fault('owner applies to existing documents, so it cannot have a rule for create')
    }
  }
  return table
}

/** A rule as configured. A `null` rule denies the operation. */
interface ConfiguredRule extends Pick<Rule, 'place'> {
  readonly operation: RuleOperation
  readonly rule: RuleConfig | null
}

const WITHOUT_CONDITIONS: RuleConfig = {}

const ruleOf = (rule: boolean | RuleConfig): RuleConfig | null =>
  typeof rule === 'object' ? rule : rule ? WITHOUT_CONDITIONS : null

/** Returns the rules of a grant. */
export function expandGrant(grant: GrantConfig): readonly ConfiguredRule[] {
  if (typeof grant === 'boolean')
    return OPERATIONS.map((operation) => ({ operation, rule: ruleOf(grant), place: '' }))
  // A mixture of both forms of a grant has already been reported. The rules of both forms are still checked.
  const plain: readonly ConfiguredRule[] = isPlain(grant)
    ? [
        { operation: 'read', rule: WITHOUT_CONDITIONS, place: '' },
        { operation: 'create', rule: grant, place: '' },
      ]
    : []
  const byOperation = OPERATIONS.flatMap((operation): ConfiguredRule[] => {
    const rule = readOwn(grant as JsonObject, operation) as RulesConfig | undefined
    const place = `/${operation}`
    if (Array.isArray(rule))
      // An element with a fault has left a hole, which `flatMap` skips.
      return rule.flatMap((one: RuleConfig, i) => ({ operation, rule: one, place: `${place}/${i}` }))
    return rule === undefined ? [] : [{ operation, rule: ruleOf(rule as boolean | RuleConfig), place }]
  })
  return [...plain, ...byOperation]
}

/** Whether a grant has the form `{ pick, omit }`: it allows reading all fields, and creating with these properties. */
export const isPlain = (grant: object): grant is Pick<RuleConfig, 'pick' | 'omit'> =>
  Object.hasOwn(grant, 'pick') || Object.hasOwn(grant, 'omit')

/** Compiles a rule. `isWhole`: it comes from a grant of `true`, which covers all operations. */
function compileRule(
  subject: string,
  {
    operation,
    rule,
    place,
    isWhole,
  }: ConfiguredRule & { readonly rule: RuleConfig; readonly isWhole: boolean },
  report: ConfigReport,
  scope: RuleScope,
): Rule {
  for (const list of ['pick', 'omit'] as const) {
    for (const [i, name] of Object.entries(rule[list] ?? [])) {
      const message = judgeName(list, name, operation, scope)
      if (message) report.at(list).at(i).fault(message)
    }
  }
  const written = compileWhere(rule.where, scope, report.at('where'))
  const isHiding = operation === 'read' && scope.shownIf !== null && !isRole(subject)
  const where = isHiding ? narrowWhere(written, scope.shownIf) : written
  // By default, the updated document must still match the `where` of the rule.
  const check =
    rule.check === undefined && operation === 'update'
      ? where
      : compileWhere(rule.check, scope, report.at('check'))
  const givesDefaults = operation === 'create'
  const set = compileSet(rule.set ?? {}, { ...scope, givesDefaults }, report.at('set'))
  const variables = [...variablesIn(where), ...variablesIn(check), ...findVariables([...set.values()])]
  return {
    subject,
    place,
    properties: compileProperties(rule),
    where,
    check,
    set,
    claims: [...new Set(variables.flatMap((variable) => claimIn(scope.claims, variable) ?? []))],
    acceptsRole:
      (isWhole && isRole(subject)) ||
      (scope.roleField !== null && rule.pick?.includes(scope.roleField) === true),
  }
}

const compileProperties = ({ pick, omit }: RuleConfig): PropertySet =>
  pick || omit ? { pick: pick ? new Set(pick) : null, omit: new Set(omit) } : ALL_PROPERTIES

const variablesIn = (where: Where): readonly string[] => (where.kind === 'bound' ? where.variables : [])

const compileWhere = (where: WhereConfig | undefined, scope: RuleScope, place: ConfigReport): Where =>
  where === undefined ? ANYWHERE : parseWhere(where, scope, place)

function compileSet(set: JsonObject, scope: RuleScope, report: ConfigReport): ReadonlyMap<string, unknown> {
  for (const [name, value] of Object.entries(set)) {
    const ofName = judgeName('set', name, 'create', scope)
    const messages =
      ofName === undefined
        ? judgeSet(name, value, scope)
        : [ofName, ...findVariables(value).flatMap((variable) => scope.judgeVariable(variable) ?? [])]
    for (const message of messages) report.at(name).fault(message)
  }
  return new Map(Object.entries(set))
}

/** Returns the reason why a rule may not name a property; `undefined` if it may. */
function judgeName(
  list: 'pick' | 'omit' | 'set',
  name: string,
  operation: RuleOperation,
  { fields, additionalProperties, verifiedField }: RuleScope,
): string | undefined {
  if (list === 'set' && name === verifiedField) return `${name} is written only by the service`
  if (isSystemField(name)) {
    if (operation !== 'read') return `${name} is always set by the service`
    return name === '_id' && list === 'omit' ? '_id is always shown' : undefined
  }
  const field = fields.find((candidate) => candidate.name === name)
  if (field?.type === 'hash' && list === 'pick' && operation === 'read') return 'a hash is never shown'
  if (field || isFreeName({ additionalProperties, reserved: reservedNames(fields) }, name)) return undefined
  const declared = fields.map((candidate) => candidate.name)
  return `there is no field ${JSON.stringify(name)} in the schema${suggest(name, declared)}`
}

/** The system fields that every document has. `createdBy` may be missing. */
const ALWAYS_THERE: readonly string[] = ['_id', 'createdAt', 'updatedAt']

/** Whether every document meets one of some conditions for every caller, as far as this is obvious. */
const holdAlways = (wheres: readonly Where[]): boolean =>
  isAlways(or(wheres.map((where) => bindWhere(where, { user: null, now: '' }))))

function isAlways(filter: Filter): boolean {
  if (filter.kind === 'present') return ALWAYS_THERE.includes(filter.field.path)
  if (filter.kind === 'and') return filter.filters.every(isAlways)
  if (filter.kind !== 'or') return false
  const others = filter.filters
  return others.some(
    (one) => isAlways(one) || (one.kind === 'not' && others.some((other) => isEqualJson(one.filter, other))),
  )
}

/** Returns the JSON pointer to a subject's grant. */
export const grantPointer = (collection: string, subject: string): string =>
  `/collections${toPointerPart(collection)}/permissions${toPointerPart(subject)}`

/** Returns the JSON pointer to a rule, or to the grant from which it was compiled. */
export const rulePointer = (
  collection: string,
  { subject, place }: Pick<Rule, 'subject' | 'place'>,
): string => grantPointer(collection, subject) + place

/** The message about a collection that is open to everyone. */
export const OPEN_DOOR = 'everyone may create, read, update and delete everything here'

/**
 * Whether everyone may perform every operation on every document and property, however the grants express it.
 */
export const isOpenToEveryone = (
  table: CompiledPermissions,
  { fields, additionalProperties }: Pick<RuleScope, 'fields' | 'additionalProperties'>,
): boolean =>
  OPERATIONS.every((operation) => {
    const rules = rulesOf(table[operation], EVERYONE).filter(({ check }) => holdAlways([check]))
    const isOpen = (includes: (properties: PropertySet) => boolean): boolean =>
      holdAlways(rules.filter(({ properties }) => includes(properties)).map(({ where }) => where))
    const names = fields.filter(({ type }) => type !== 'hash' || operation !== 'read').map(({ name }) => name)
    return (
      isOpen(() => true) &&
      names.every((name) => isOpen((properties) => includesProperty(properties, name))) &&
      (!additionalProperties || isOpen(({ pick }) => pick === null))
    )
  })
