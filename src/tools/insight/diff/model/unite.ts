import type { Collection } from '../../../../core/config/plan.js'
import { OPERATIONS, type Rule } from '../../../../core/permissions/grants.js'
import { keyOfMentions, keyOfRule, remembered } from './rule-keys.js'
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

/** Describes two sides, except their name, as a string. Sides with the same string have the same differences. */
export const keyOfSides = ({ before, after }: Sides): string =>
  [before, after]
    .flatMap((side) => [schemaOf(side), ...OPERATIONS.map((own) => keyOfMentions(side.permissions[own]))])
    .join()

/**
 * Makes two sides of the same schema share their schema object, and share the rule object wherever both rules have the
 * same meaning. So results that are cached by object are computed only once.
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

type Mentions = Collection['permissions']['read']

const uniteRules = (before: Mentions, after: Mentions): Mentions =>
  new Map([...after].map(([subject, rule]) => [subject, uniteRule(before.get(subject), rule)]))

const uniteRule = (before: Rule | null | undefined, after: Rule | null): Rule | null =>
  before && after && keyOfRule(before) === keyOfRule(after) ? before : after
