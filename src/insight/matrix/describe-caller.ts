import type { AuthPlan } from '../../config/plan.js'
import type { KnownCaller } from '../../permissions/caller.js'
import { EVERYONE, OWNER, type Rule, type RuleOperation } from '../../permissions/grants.js'
import { selectReadRules } from '../../permissions/read-gate.js'
import { selectWriteRules } from '../../permissions/write-rules.js'
import type { Binding } from '../../query/variable.js'
import { isClosedTo, rulesToCreate } from '../../service/authorize.js'
import { canRun } from './anonymous.js'
import { addUp, cutUnreachable } from './decide.js'
import { describeRule, type RuleContext } from './describe-rule.js'
import { hasField, scopeOf, tidy } from './field-sets.js'
import type { CallerMatrix, MatrixCaller, MatrixFields, MatrixRule } from './types.js'

/** The inputs for the rights of callers to the documents of a collection. */
export interface CallerScope {
  readonly described: RuleContext
  /** The accounts, if the service keeps them. */
  readonly accounts: AuthPlan | null
  /** The variables of an anonymous caller. */
  readonly anonymous: Binding
}

/** The rights of a kind of caller; for signed-in callers, followed by those to their own documents. */
export function describeCaller(
  caller: MatrixCaller,
  known: KnownCaller | null,
  scope: CallerScope,
): readonly CallerMatrix[] {
  const { described, accounts } = scope
  const { collection } = described
  const creator = { caller: known, service: { accounts } }
  const create = isClosedTo(creator, collection) ? [] : rulesToCreate(creator, collection)
  const registers = known === null && accounts?.users === collection && accounts.register
  const { read, update, delete: removal } = describeExisting(known, false, scope)
  const main: CallerMatrix = {
    caller,
    isOwner: false,
    create: cutUnreachable(describeAll(create, 'create', known, scope)),
    ...(registers ? { register: describeRegistration(accounts, scope) } : {}),
    read,
    update,
    delete: removal,
  }
  return known === null ? [main] : [main, { caller, isOwner: true, ...describeExisting(known, true, scope) }]
}

/** The rights of a caller to existing documents. */
function describeExisting(
  known: KnownCaller | null,
  isOwner: boolean,
  scope: CallerScope,
): Pick<CallerMatrix, 'read' | 'update' | 'delete'> {
  const { described } = scope
  const { collection } = described
  const mine = (rules: readonly Rule[]): readonly Rule[] =>
    rules.filter(({ subject }) => isOwner || subject !== OWNER)
  const read = addUp(
    describeAll(mine(selectReadRules(collection.permissions, known)), 'read', known, scope),
    scopeOf(collection, 'read'),
  )
  // A caller changes only documents that it may read.
  const select = (operation: 'update' | 'delete'): readonly Rule[] =>
    read.length > 0 ? mine(selectWriteRules(collection.permissions[operation], known)) : []
  return {
    read,
    update: cutUnreachable(describeAll(select('update'), 'update', known, scope)),
    delete: addUp(describeAll(select('delete'), 'delete', known, scope), scopeOf(collection, 'delete')),
  }
}

/** The rules that could run for a caller, in words. */
const describeAll = (
  rules: readonly Rule[],
  operation: RuleOperation,
  known: KnownCaller | null,
  { described, anonymous }: CallerScope,
): readonly MatrixRule[] =>
  rules
    .filter((rule) => known !== null || canRun(rule, anonymous))
    .map((rule) => describeRule(rule, operation, described))

/** Registration accepts identifier and secret, and the fields that `*` may create, except the role (CONTRACT.md §4). */
function describeRegistration(
  { users, identifier, secret }: AuthPlan,
  { described, anonymous }: CallerScope,
): readonly MatrixRule[] {
  const always = [identifier.name, secret.name]
  const fieldScope = scopeOf(users, 'create')
  const rule = users.permissions.create.get(EVERYONE)
  if (!rule) {
    const fields = tidy({ kind: 'only', names: always }, fieldScope)
    return [{ pointers: [], where: null, fields, set: {}, check: null }]
  }
  if (!canRun(rule, anonymous)) return []
  const said = describeRule(rule, 'create', described)
  const accepts = (name: string): boolean =>
    always.includes(name) || (name !== users.roleField && said.fields !== null && hasField(said.fields, name))
  const named = said.fields?.kind === 'only' ? said.fields.names : fieldScope.names
  const fields: MatrixFields =
    said.fields?.kind === 'only'
      ? { kind: 'only', names: [...always, ...named].filter(accepts) }
      : { kind: 'except', names: named.filter((name) => !accepts(name)) }
  return [{ ...said, fields: tidy(fields, fieldScope) }]
}
