import type { Collection } from '../../config/plan.js'
import { EVERYONE, isRole, OWNER, SIGNED_IN } from '../../permissions/grants.js'
import { goesFirst } from './implies.js'
import type { CheckScope, LocatedRule } from './scope.js'

/**
 * The read rules of a collection that a caller under a rule may have: those of all subjects that such a caller may be.
 */
export function findReaders(
  scope: CheckScope,
  writer: LocatedRule,
  target: Collection,
): readonly LocatedRule[] {
  return scope.rules.filter(
    (reader) =>
      reader.collection === target && reader.operation === 'read' && mayBeToo(scope, writer, reader.subject),
  )
}

/** Whether a caller under a rule may also be another subject. */
function mayBeToo(scope: CheckScope, writer: LocatedRule, subject: string): boolean {
  if (subject === EVERYONE || subject === writer.subject) return true
  if (scope.isForAnonymous(writer)) return false
  if (!isRole(subject)) return true
  if (isRole(writer.subject)) return scope.hasSeveralRoles
  const { collection, operation } = writer
  const own = collection.permissions[operation].get(subject)
  // For a role that is mentioned, neither `user` nor `*` counts, and `owner` comes after it.
  if (own === undefined) return true
  if (writer.subject !== OWNER) return false
  return own === null || !goesFirst({ ...writer, subject, rule: own }, writer)
}

/** The read rules of a caller that is only the subject of a rule, perhaps also the owner. */
export const findLeastReaders = (
  scope: CheckScope,
  { collection, subject }: LocatedRule,
): readonly LocatedRule[] =>
  scope.rules.filter(
    (reader) =>
      reader.collection === collection &&
      reader.operation === 'read' &&
      (reader.subject === EVERYONE ||
        reader.subject === subject ||
        (subject !== EVERYONE && (reader.subject === SIGNED_IN || reader.subject === OWNER))),
  )
