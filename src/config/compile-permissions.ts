import type { ConfigFault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { readOwn } from '../json/own-properties.js'
import { toPointerPart } from '../json/pointer.js'
import {
  ALL_PROPERTIES,
  type CompiledPermissions,
  EVERYONE,
  includesProperty,
  isRole,
  OPERATIONS,
  type Operation,
  OWNER,
  type PropertySet,
  type Rule,
} from '../permissions/grants.js'
import { findVariables } from '../query/variable.js'
import { ANYWHERE, isAnywhere, parseWhere, type Where, type WhereScope } from '../query/where.js'
import { isFieldName, isSystemField, suggest } from '../schema/names.js'
import { normaliseProperties } from '../schema/normalise.js'
import type { BodyValidator } from '../schema/validator.js'
import type { CollectionConfig, GrantConfig, JsonObject, RuleConfig, WhereConfig } from '../types.js'

/** What the names and values in a rule are judged by, and where what is wrong with them is noted. */
export interface RuleScope extends WhereScope {
  readonly fields: readonly Field[]
  readonly validate: BodyValidator
  readonly additionalProperties: boolean
  readonly roleField: string | null
  readonly faults: ConfigFault[]
}

/** Resolves the grants of a collection into one table by operation (CONTRACT.md §5). */
export function compilePermissions(
  permissions: NonNullable<CollectionConfig['permissions']>,
  scope: RuleScope,
  at: string,
): CompiledPermissions {
  const table = { create: new Map(), read: new Map(), update: new Map(), delete: new Map() }
  for (const [subject, grant] of Object.entries(permissions)) {
    const place = at + toPointerPart(subject)
    for (const [operation, rule, written] of expandGrant(grant, place)) {
      if (subject === OWNER && operation === 'create') {
        // `true` and `false` stand for what owners can do at all.
        if (typeof grant === 'boolean') continue
        const message = 'owner means documents that exist already: it cannot create'
        scope.faults.push({ path: written, message })
      } else {
        table[operation].set(subject, compileRule(subject, operation, rule, grant === true, scope, written))
      }
    }
  }
  return table
}

type Written = readonly [operation: Operation, rule: boolean | RuleConfig, at: string]

/** A grant as the rules it stands for, each with the place where it is written. */
function expandGrant(grant: GrantConfig, at: string): readonly Written[] {
  if (typeof grant === 'boolean') return OPERATIONS.map((operation) => [operation, grant, at])
  // Both at once are a fault already; what is wrong with each is one too.
  const plain: readonly Written[] = isPlain(grant)
    ? [
        ['read', true, at],
        ['create', grant, at],
      ]
    : []
  const byOperation = OPERATIONS.flatMap((operation): Written[] => {
    const rule = readOwn(grant as JsonObject, operation) as boolean | RuleConfig | undefined
    return rule === undefined ? [] : [[operation, rule, at + toPointerPart(operation)]]
  })
  return [...plain, ...byOperation]
}

const isPlain = (grant: GrantConfig & object): grant is Pick<RuleConfig, 'pick' | 'omit'> =>
  Object.hasOwn(grant, 'pick') || Object.hasOwn(grant, 'omit')

function compileRule(
  subject: string,
  operation: Operation,
  rule: boolean | RuleConfig,
  isWholeGrant: boolean,
  scope: RuleScope,
  at: string,
): Rule | null {
  if (rule === false) return null
  const written = rule === true ? {} : rule
  checkNames('pick', written.pick, operation, scope, at)
  checkNames('omit', written.omit, operation, scope, at)
  const where = compileWhere(written.where, scope, `${at}/where`)
  return {
    subject,
    properties: compileProperties(written),
    where,
    // Nobody may write a document out of the own reach, unless the rule says so.
    check:
      written.check === undefined && operation === 'update'
        ? where
        : compileWhere(written.check, scope, `${at}/check`),
    set: compileSet(written.set ?? {}, scope, `${at}/set`),
    acceptsRole:
      (isWholeGrant && isRole(subject)) ||
      (scope.roleField !== null && written.pick?.includes(scope.roleField) === true),
  }
}

const compileProperties = ({ pick, omit }: RuleConfig): PropertySet =>
  pick || omit ? { pick: pick ? new Set(pick) : null, omit: new Set(omit) } : ALL_PROPERTIES

const compileWhere = (where: WhereConfig | undefined, scope: RuleScope, at: string): Where =>
  where === undefined ? ANYWHERE : parseWhere(where, scope, at, scope.faults)

function compileSet(set: JsonObject, scope: RuleScope, at: string): ReadonlyMap<string, unknown> {
  const declared = scope.fields.map(({ name }) => name)
  for (const [name, value] of Object.entries(set)) {
    const ofName = judgeName('set', name, 'create', scope, declared)
    const messages = [
      ...(ofName === undefined ? judgeLiteral(name, value, scope) : [ofName]),
      ...findVariables(value).flatMap((variable) => scope.judgeVariable(variable) ?? []),
    ]
    for (const message of messages) scope.faults.push({ path: at + toPointerPart(name), message })
  }
  return new Map(Object.entries(set))
}

/** Why a value without variables is none of its field. */
function judgeLiteral(name: string, value: unknown, { fields, validate }: RuleScope): readonly string[] {
  if (findVariables(value).length > 0) return []
  const at = toPointerPart(name)
  return validate(normaliseProperties(fields, { [name]: value }), { limit: Number.POSITIVE_INFINITY })
    .filter(({ path }) => path === at || path.startsWith(`${at}/`))
    .map(({ path, message }) => `is no value of the field: ${path.slice(at.length)} ${message}`)
}

function checkNames(
  list: 'pick' | 'omit',
  names: readonly string[] | undefined,
  operation: Operation,
  scope: RuleScope,
  at: string,
): void {
  const declared = scope.fields.map(({ name }) => name)
  for (const [i, name] of Object.entries(names ?? [])) {
    const message = judgeName(list, name, operation, scope, declared)
    if (message) scope.faults.push({ path: `${at}/${list}/${i}`, message })
  }
}

/** Why a rule may not name a property, if so. */
function judgeName(
  list: 'pick' | 'omit' | 'set',
  name: string,
  operation: Operation,
  scope: RuleScope,
  declared: readonly string[],
): string | undefined {
  if (isSystemField(name)) {
    if (operation !== 'read') return `${name} is set by the service, whatever a rule says`
    return name === '_id' && list === 'omit' ? '_id is always shown' : undefined
  }
  const field = scope.fields.find((candidate) => candidate.name === name)
  if (field?.type === 'hash' && list === 'pick' && operation === 'read') return 'a hash is never shown'
  if (field || (scope.additionalProperties && isFieldName(name))) return undefined
  return `there is no field ${JSON.stringify(name)} in the schema${suggest(name, declared)}`
}

/** Whether everyone may do everything with every document and property, however that is written. */
export const isOpenToEveryone = (
  table: CompiledPermissions,
  { fields, additionalProperties }: Pick<RuleScope, 'fields' | 'additionalProperties'>,
): boolean =>
  OPERATIONS.every((operation) => {
    const rule = table[operation].get(EVERYONE)
    if (!rule || !isAnywhere(rule.where) || !isAnywhere(rule.check)) return false
    const includesAll = fields.every(
      ({ name, type }) =>
        includesProperty(rule.properties, name) || (type === 'hash' && operation === 'read'),
    )
    return includesAll && !(additionalProperties && rule.properties.pick !== null)
  })
