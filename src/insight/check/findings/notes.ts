import { isNarrower } from '../../../config/find-warnings.js'
import { EVERYONE, includesProperty, isRole, OPERATIONS, SIGNED_IN } from '../../../permissions/grants.js'
import type { Check } from '../scope.js'

/** Lists that anonymous callers may read in full; in production, the start warns of them. */
export const notePublicLists: Check = ({ plan: { limits, warnings }, rules }, note) => {
  if (limits.defaultLimit !== null || limits.maxLimit !== null) return
  if (warnings.some(({ code }) => code === 'unlimited_list')) return
  for (const { operation, subject, pointer, collection } of rules)
    if (operation === 'read' && subject === EVERYONE)
      note(
        'public_list',
        pointer,
        `anyone may list all public documents of ${collection.name} in one request`,
      )
}

/** Identifiers that anonymous callers may collect. */
export const noteReadableIdentifier: Check = ({ plan: { auth }, rules, authenticate }, note) => {
  if (!auth || authenticate) return
  for (const { collection, operation, subject, rule, pointer } of rules) {
    const isStrange = subject === EVERYONE || (subject === SIGNED_IN && auth.register)
    if (collection !== auth.users || operation !== 'read' || !isStrange) continue
    if (includesProperty(rule.properties, auth.identifier.name))
      note(
        'readable_identifier',
        pointer,
        `${subject === EVERYONE ? 'anyone' : 'everyone who registers'} may read the ${auth.identifier.name} of accounts`,
      )
  }
}

/** Roles that may write less than callers without a role, because a role's rule goes before that of `user`. */
export const noteLesserRoles: Check = ({ plan, isPossible, place }, note) => {
  for (const collection of plan.collections.values()) {
    const names = collection.fields.map(({ name }) => name)
    for (const operation of OPERATIONS) {
      const common = collection.permissions[operation].get(SIGNED_IN)
      if (operation === 'read' || !common) continue
      for (const [subject, rule] of collection.permissions[operation]) {
        if (!isRole(subject) || !isPossible(subject)) continue
        if (rule === null || isNarrower(rule, common, names))
          note(
            'less_than_user',
            place(collection, subject, operation),
            `${subject} may ${operation} less than "user" may, because a role decides before it`,
          )
      }
    }
  }
}
