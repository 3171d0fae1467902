import type { Collection } from '../../../config/plan.js'
import { isSystemField } from '../../../fields/schema/names.js'
import { MAX_FAULTS } from '../../../fields/schema/validator.js'
import { pickOwn } from '../../../json/own-properties.js'
import type { Rule } from '../../../permissions/grants.js'
import { acceptsProperty, type KeptProperties } from '../../../permissions/write-rules.js'
import { whenReady } from '../../../promises.js'
import type { JsonObject } from '../../../types.js'
import type { BodyWrite, Stage } from '../draft.js'

/**
 * Drops the properties of a body that the rule does not accept. A PATCH of which nothing is left writes nothing. If a
 * rule that drops nothing was refused, a rule that keeps nothing does not accept the body.
 */
export const drop: Stage = {
  name: 'drop',
  judge(draft) {
    const { write, collection, rule, body, slices } = draft
    slices.left -= STEPS_TO_DROP * Object.keys(body).length
    return whenReady(slices.left > 0 ? undefined : slices.next(), () => {
      draft.kept = keepAccepted(write, rule, body)
      draft.given = cutUndeclared(collection, draft.kept.body)
      // Undeclared properties are cut only beyond the first ones, so nothing is given if nothing is kept.
      const isEmpty = Object.keys(draft.given).length === 0
      if (draft.followsRefusal && !draft.kept.isWhole && isEmpty) return { kind: 'idle' }
      draft.writes = write.operation !== 'patch' || !isEmpty
      return draft.writes ? undefined : { kind: 'fits' }
    })
  },
}

/** The number of steps that it takes to check whether a rule accepts one property of a body. */
export const STEPS_TO_DROP = 4

/**
 * Drops system fields, the field with the time of verification, properties that the rule does not accept, and those
 * that `set` replaces (CONTRACT.md §4 and §5).
 */
export function keepAccepted(
  { collection, required }: Pick<BodyWrite, 'collection' | 'required'>,
  rule: Rule,
  body: JsonObject,
): KeptProperties {
  const names = Object.keys(body)
  const kept: string[] = []
  let isWhole = true
  for (const name of names) {
    if (isSystemField(name) || name === collection.verifiedField || rule.set.has(name)) continue
    // A client may not choose its role at registration, even if `pick` names the role field.
    const isBarred = required !== undefined && name === collection.roleField
    const isAccepted = required?.includes(name) || (!isBarred && acceptsProperty(rule, name, collection))
    if (isAccepted) kept.push(name)
    else isWhole = false
  }
  return { body: kept.length === names.length ? body : pickOwn(body, kept), isWhole }
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
