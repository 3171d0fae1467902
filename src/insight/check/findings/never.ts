import { EVERYONE, isRole, OWNER, SIGNED_IN } from '../../../permissions/grants.js'
import { goesFirst } from '../implies.js'
import { isPossible } from '../satisfy.js'
import {
  type Check,
  type CheckScope,
  collectSubjects,
  type LocatedRule,
  needsCaller,
  waysOfRule,
} from '../scope.js'

/** Subjects that no caller can be; the start warns of some. */
export const findImpossibleSubjects: Check = ({ plan, isPossible: canBe, place, canSignIn }, note) => {
  for (const collection of plan.collections.values()) {
    for (const subject of collectSubjects(collection)) {
      const pointer = place(collection, subject)
      if (
        canBe(subject) ||
        plan.warnings.some(({ code, path }) => code === 'impossible_role' && path === pointer)
      )
        continue
      const reason = canSignIn
        ? 'the role field cannot hold it'
        : 'no caller can sign in: "users" keeps no accounts, and the host does not name callers'
      if (isRole(subject))
        note(
          'impossible_role',
          pointer,
          `${canSignIn ? 'no user who signs in' : 'no caller'} can have the role ${subject}: ${noRole(reason, plan.collections.get('users')?.roleField)}`,
        )
      else
        note(
          'never_runs',
          pointer,
          reason,
          'Give "users" an identifier and a secret, or check with --authenticate.',
        )
    }
  }
}

/** Subjects that look like a misspelt other one: roles that hardly any caller has. */
export const findMistakenSubjects: Check = ({ plan, isPossible: canBe, place }, note) => {
  for (const collection of plan.collections.values()) {
    for (const subject of collectSubjects(collection)) {
      if (!isRole(subject) || !canBe(subject)) continue
      const meant = [OWNER, SIGNED_IN].find((one) => one === subject.toLowerCase().replace(/^\$/, ''))
      if (meant === undefined && !subject.startsWith('$')) continue
      const near = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`
      note(
        'mistaken_subject',
        place(collection, subject),
        `${JSON.stringify(subject)} is a role, and neither "${OWNER}" nor "${SIGNED_IN}" nor a variable${near}`,
      )
    }
  }
}

const noRole = (reason: string, roleField: string | null | undefined): string =>
  reason.startsWith('the role field') && roleField === null ? 'auth.roleField names no field' : reason

/** Conditions that no document meets. */
export const findUnmatched: Check = (scope, note) => {
  for (const placed of scope.rules)
    if (!isMatched(scope, placed))
      note('never_matches', pointTo(placed, 'where'), describeUnmatched(scope, placed))
}

/** Whether a rule applies to any document. */
export const isMatched = (scope: CheckScope, placed: LocatedRule): boolean =>
  isPossible(waysOfRule(placed.rule), scope.situate(placed))

function describeUnmatched(scope: CheckScope, placed: LocatedRule): string {
  const { isLacking: _, ...anyone } = scope.situate(placed)
  return isPossible(waysOfRule(placed.rule), anyone)
    ? 'it compares with the caller, but applies to anonymous callers alone'
    : 'no document that this configuration accepts meets the condition'
}

/** The place of a part of a rule. A grant of `true` has none. */
export const pointTo = ({ pointer, rule, operation }: LocatedRule, part: 'where' | 'check'): string =>
  pointer.endsWith(`/${operation}`) && rule[part].ways.some((way) => way.length > 0)
    ? `${pointer}/${part}`
    : pointer

/** Rules that never run, because an earlier rule takes every request that they would. */
export const findUnreached: Check = (scope, note) => {
  for (const placed of scope.rules) {
    const reason = findReason(scope, placed)
    if (reason !== undefined) note('never_runs', placed.pointer, reason)
  }
}

function findReason(scope: CheckScope, placed: LocatedRule): string | undefined {
  const { plan, authenticate } = scope
  const { collection, operation, subject, rule } = placed
  const { auth } = plan
  if (scope.isForAnonymous(placed)) {
    if (needsCaller(scope, rule))
      return '"set" names the caller, but the rule runs for anonymous callers alone'
    const isRegistration = operation === 'create' && auth?.users === collection && !authenticate
    if (isRegistration && !auth.register)
      return 'registration is closed, and signed-in callers have the rule of "user"'
  }
  if (subject !== OWNER || operation === 'create' || operation === 'read') return undefined
  const first = findFirst(scope, placed)
  return first.length > 0 && first.every((other) => other !== null && goesFirst(other, placed))
    ? `${first.map((other) => other?.subject).join(', ')} may ${operation} all of this already, and ${first.length > 1 ? 'are' : 'is'} tried first`
    : undefined
}

/** The rules that are tried before `owner`, one for each kind of caller; `null` for none. */
function findFirst(
  scope: CheckScope,
  { collection, operation }: LocatedRule,
): readonly (LocatedRule | null)[] {
  const mentions = collection.permissions[operation]
  const common = mentions.has(SIGNED_IN) ? SIGNED_IN : EVERYONE
  const subjects = [common, ...[...mentions.keys()].filter((one) => isRole(one) && scope.isPossible(one))]
  return subjects.map(
    (subject) =>
      scope.rules.find(
        (other) =>
          other.collection === collection && other.operation === operation && other.subject === subject,
      ) ?? null,
  )
}
