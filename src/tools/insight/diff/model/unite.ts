import type { Collection } from '../../../../core/config/plan.js'
import { type Mentions, OPERATIONS, rulesOf } from '../../../../core/permissions/grants.js'
import { isSameRule, keyOfMentions, remembered } from './rule-keys.js'
import type { Sides } from './universe.js'

/** Whether both sides read bodies and documents alike, so that only rules can cause differences. */
export const haveSameSchema = ({ before, after }: Sides): boolean => schemaOf(before) === schemaOf(after)

const schemaOf = remembered(
  ({ fields, additionalProperties, roleField, verifiedField, fills }: Collection) => [
    fields.map(({ name, definition }) => [name, definition]),
    additionalProperties,
    roleField,
    verifiedField,
    [...fills],
  ],
)

/** Describes two sides as a string, without the collection name. Equal strings mean equal differences. */
export const keyOfSides = ({ before, after }: Sides): string =>
  [before, after]
    .flatMap((side) => [schemaOf(side), ...OPERATIONS.map((own) => keyOfMentions(side.permissions[own]))])
    .join()

/**
 * Makes two sides with equal schemas share the schema objects, and the object of each rule that means the same on both
 * sides. So results that are cached by object are computed only once.
 */
export function unite({ before, after }: Sides): Sides {
  const { create, read, update, delete: remove } = after.permissions
  const was = before.permissions
  const permissions = {
    create: uniteRules(was.create, create),
    read: uniteRules(was.read, read),
    update: uniteRules(was.update, update),
    delete: uniteRules(was.delete, remove),
  }
  return { before, after: { ...before, permissions } }
}

const uniteRules = (before: Mentions, after: Mentions): Mentions =>
  new Map(
    [...after].map(([subject, rules]) => {
      const were = rulesOf(before, subject)
      return [subject, rules.map((rule) => were.find((one) => isSameRule(one, rule)) ?? rule)]
    }),
  )
