import { EVERYONE, isRole, OWNER, SIGNED_IN } from '../../../permissions/grants.js'
import { USER, userPathOf } from '../../../query/variable.js'
import { isAnywhere } from '../../../query/where.js'
import { USERS } from '../../../schema/names.js'
import { mayChange } from '../implies.js'
import { variablesIn } from '../satisfy.js'
import { type Check, type CheckScope, collectSubjects, type LocatedRule } from '../scope.js'
import { isMatched } from './never.js'

/** Whether every way of a rule's `check` restricts a field. */
const isChecked = ({ rule }: LocatedRule, path: string): boolean =>
  rule.check.ways.every((way) =>
    way.some((demand) => demand.path === path || demand.path.startsWith(`${path}.`)),
  ) ||
  // A check whose demands are unknown counts as restricting the field.
  (!isAnywhere(rule.check) && rule.check.ways.some((way) => way.length === 0))

/** Whether a rule lets its caller choose the value of a field, in a new or a stored document. */
const mayGive = (placed: LocatedRule, name: string): boolean =>
  placed.operation === 'create' || placed.operation === 'update' ? mayChange(placed, name) : false

/** Rules with which callers choose roles. */
export const findRoleWriters: Check = (scope, note) => {
  const { plan } = scope
  const users = plan.collections.get(USERS)
  const roleField = users?.roleField
  if (!users || !roleField) return
  const roles = new Set(
    [...plan.collections.values()].flatMap((one) => [...collectSubjects(one)]).filter(isRole),
  )
  for (const placed of scope.rules) {
    const { collection, rule, subject } = placed
    if (collection !== users || !rule.properties.pick?.has(roleField)) continue
    const hasOthers = [...roles].some((role) => role !== subject)
    if (!mayGive(placed, roleField) || isChecked(placed, roleField) || !hasOthers) continue
    note('writes_role', placed.pointer, `${subject} may write ${roleField}, and so choose any role`)
  }
}

/** Rules with which callers change fields that other rules compare. */
export const findUserFieldWriters: Check = (scope, note) => {
  const users = scope.plan.collections.get(USERS)
  if (scope.authenticate || !users) return
  const read = collectUserFields(scope)
  for (const placed of scope.rules) {
    const { collection, subject, operation } = placed
    if (collection !== users || isRole(subject) || !isSelf(scope, placed)) continue
    for (const name of read) {
      if (!mayGive(placed, name) || isChecked(placed, name)) continue
      const verb = operation === 'create' ? 'give an account any' : 'change its own'
      note(
        'writes_user_field',
        placed.pointer,
        `${subject} may ${verb} ${name}, which rules read as ${USER}${name}`,
      )
    }
  }
}

/** Whether a rule can apply to the caller's own account. */
const isSelf = ({ plan }: CheckScope, { operation, subject }: LocatedRule): boolean =>
  operation === 'create'
    ? subject !== EVERYONE || plan.auth?.register === true
    : [EVERYONE, SIGNED_IN, OWNER].includes(subject)

/** The fields of `users` with which rules and claims compare. */
function collectUserFields({ plan, rules }: CheckScope): ReadonlySet<string> {
  const wheres = [
    ...rules.flatMap(({ rule }) => [rule.where, rule.check]),
    ...[...plan.claims.values()].map(({ where }) => where),
  ]
  const paths = wheres
    .flatMap((where) => (where.kind === 'bound' ? where.variables : []))
    .flatMap((variable) => userPathOf(variable)?.split('.')[0] ?? [])
  const known = [plan.auth?.identifier.name, plan.collections.get(USERS)?.roleField, '_id']
  return new Set(paths.filter((name) => !plan.claims.has(name) && !known.includes(name)))
}

/** Updates that may change the fields that allow them. */
export const findOwnConditionWriters: Check = (scope, note) => {
  for (const placed of scope.rules) {
    if (placed.operation !== 'update' || !isMatched(scope, placed)) continue
    const own = findOwnConditions(placed)
    if (own.length === 0) continue
    note(
      'writes_own_condition',
      placed.pointer,
      `${placed.subject} may change ${own.join(', ')}, which the rule compares with its caller`,
    )
  }
}

/** The fields that a rule compares with its caller, and that the caller may change to anything. */
export function findOwnConditions(placed: LocatedRule): readonly string[] {
  const { rule } = placed
  if (rule.check === rule.where) return []
  const compared = rule.where.ways
    .flat()
    .filter(
      (demand) =>
        ['$eq', '$in'].includes(demand.operator) && variablesIn(demand).some((one) => one.startsWith(USER)),
    )
  const paths = [...new Set(compared.map(({ path }) => path))]
  return paths.filter((path) => mayChange(placed, path) && !isChecked(placed, path))
}
