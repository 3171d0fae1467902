import type { ConfigFault } from '../errors.js'
import { everything, type Filter, isEverything } from '../filter/filter.js'
import { isObject, type JsonObject, readOwn } from '../filter/read-path.js'
import {
  ALL_PROPERTIES,
  EVERYONE,
  isRole,
  OPERATIONS,
  type Operation,
  OWNER,
  type PermissionTable,
  type PropertySet,
  type Rule,
} from '../permissions/grants.js'
import { parseWhere } from '../query/parse-where.js'
import type { Field } from '../schema/field.js'
import { isFieldName, isSystemField, suggest, toPointerPart } from '../schema/names.js'
import type { CollectionConfig, GrantConfig, RuleConfig } from '../types.js'

/** What the names in a rule are looked up in. */
export interface RuleScope {
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly additionalProperties: boolean
  readonly roleField: string | null
}

/** Resolves the grants of a collection into one table by operation, adding what is wrong to `faults` (contract §5). */
export function compilePermissions(
  permissions: NonNullable<CollectionConfig['permissions']>,
  scope: RuleScope,
  at: string,
  faults: ConfigFault[],
): PermissionTable {
  const table = { create: new Map(), read: new Map(), update: new Map(), delete: new Map() }
  for (const [subject, grant] of Object.entries(permissions)) {
    const place = at + toPointerPart(subject)
    for (const [operation, rule, written] of expandGrant(grant, place)) {
      if (subject === OWNER && operation === 'create' && typeof grant === 'object') {
        faults.push({ path: written, message: 'owner means documents that exist already: it cannot create' })
      } else if (subject !== OWNER || operation !== 'create') {
        const compiled = compileRule(subject, operation, rule, grant === true, scope, written, faults)
        table[operation].set(subject, compiled)
      }
    }
  }
  return table
}

type Written = readonly [operation: Operation, rule: boolean | RuleConfig, at: string]

/** A grant as the rules it stands for, each with the place where it is written. */
function expandGrant(grant: GrantConfig, at: string): readonly Written[] {
  if (typeof grant === 'boolean') return OPERATIONS.map((operation) => [operation, grant, at])
  if (isPlain(grant)) {
    return [
      ['read', true, at],
      ['create', grant, at],
    ]
  }
  return OPERATIONS.flatMap((operation): Written[] => {
    const rule = readOwn(grant as JsonObject, operation) as boolean | RuleConfig | undefined
    return rule === undefined ? [] : [[operation, rule, at + toPointerPart(operation)]]
  })
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
  faults: ConfigFault[],
): Rule | null {
  if (rule === false) return null
  const written = rule === true ? {} : rule
  checkNames('pick', written.pick, operation, scope, at, faults)
  checkNames('omit', written.omit, operation, scope, at, faults)
  return {
    subject,
    properties: compileProperties(written),
    where: compileWhere(written.where, scope, at, faults),
    acceptsRole:
      (isWholeGrant && isRole(subject)) ||
      (scope.roleField !== null && written.pick?.includes(scope.roleField) === true),
  }
}

const compileProperties = ({ pick, omit }: RuleConfig): PropertySet =>
  pick || omit ? { pick: pick ? new Set(pick) : null, omit: new Set(omit) } : ALL_PROPERTIES

const compileWhere = (
  where: RuleConfig['where'],
  scope: RuleScope,
  at: string,
  faults: ConfigFault[],
): Filter => (isObject(where) ? parseWhere(where, scope.paths, `${at}/where`, faults) : everything)

function checkNames(
  list: 'pick' | 'omit',
  names: readonly string[] | undefined,
  operation: Operation,
  scope: RuleScope,
  at: string,
  faults: ConfigFault[],
): void {
  const declared = scope.fields.map(({ name }) => name)
  for (const [i, name] of (names ?? []).entries()) {
    const message = judgeName(list, name, operation, scope, declared)
    if (message) faults.push({ path: `${at}/${list}/${i}`, message })
  }
}

/** Why a rule may not name a property, if so. */
function judgeName(
  list: 'pick' | 'omit',
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

/** Whether everyone may do everything with every document and property. */
export function isOpenToEveryone(table: PermissionTable): boolean {
  return OPERATIONS.every((operation) => {
    const rule = table[operation].get(EVERYONE)
    return (
      rule && isEverything(rule.where) && rule.properties.pick === null && rule.properties.omit.size === 0
    )
  })
}
