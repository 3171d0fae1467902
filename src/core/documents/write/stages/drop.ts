import type { Collection } from '../../../config/plan.js'
import { MAX_FAULTS } from '../../../fields/schema/validator.js'
import { pickOwn } from '../../../json/own-properties.js'
import type { Rule } from '../../../permissions/grants.js'
import { acceptsProperty, type KeptProperties, keepProperties } from '../../../permissions/write-rules.js'
import { whenReady } from '../../../promises.js'
import type { JsonObject } from '../../../types.js'
import type { Draft, Stage, Verdict, Write } from '../draft.js'

/** Drops the properties of a body that the rule does not accept. A PATCH of which nothing is left writes nothing. */
export const drop: Stage = {
  name: 'drop',
  judge(draft) {
    draft.slices.left -= stepsToDrop(draft.body)
    return whenReady(draft.slices.left > 0 ? undefined : draft.slices.next(), () => dropNow(draft))
  },
}

function dropNow(draft: Draft): Verdict | undefined {
  const { write, collection, rule, body } = draft
  draft.kept = keepAccepted(write, rule, body)
  draft.given = cutUndeclared(collection, draft.kept.body)
  draft.writes = write.operation !== 'patch' || Object.keys(draft.given).length > 0
  return draft.writes ? undefined : { kind: 'fits' }
}

/** Returns the number of steps that it takes to check which properties of a body a rule accepts. */
export const stepsToDrop = (body: JsonObject): number => 4 * Object.keys(body).length

/** Returns the properties of a body that a rule keeps. */
export function keepAccepted({ collection, required }: Write, rule: Rule, body: JsonObject): KeptProperties {
  const accepts = (name: string): boolean => acceptsProperty(rule, name, collection)
  // A client may not choose its role at registration, even if `pick` names the role field.
  const isRegistered = (name: string): boolean =>
    required?.includes(name) === true || (name !== collection.roleField && accepts(name))
  return keepProperties(body, required ? isRegistered : accepts, rule.set, collection.verifiedField)
}

/**
 * Returns the properties to validate: of undeclared properties only as many as a response can report as errors. More
 * would take too long, because an update iterates over each property many times.
 */
export function cutUndeclared({ fields, additionalProperties }: Collection, given: JsonObject): JsonObject {
  const names = Object.keys(given)
  if (additionalProperties || names.length <= fields.length + MAX_FAULTS) return given
  const declared = new Set(fields.map(({ name }) => name))
  let left = MAX_FAULTS
  return pickOwn(
    given,
    names.filter((name) => declared.has(name) || left-- > 0),
  )
}
