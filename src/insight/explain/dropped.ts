import type { Collection } from '../../config/plan.js'
import { includesProperty, type Rule } from '../../permissions/grants.js'
import { isFieldName, isSystemField } from '../../schema/names.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import type { DroppedProperty } from './explanation.js'
import type { WrittenRule } from './find-rule.js'

/** The properties of a body that a rule dropped, each with the line of the rule that drops it. */
export function droppedFrom(
  { roleField, verifiedField }: Collection,
  body: JsonObject,
  kept: JsonObject,
  { rule, written }: { readonly rule: Rule; readonly written: WrittenRule },
): readonly DroppedProperty[] {
  const { pointer } = written
  return Object.keys(body)
    .filter((name) => !Object.hasOwn(kept, name))
    .map((name): DroppedProperty => {
      if (isSystemField(name) || name === verifiedField) return { name, by: null, why: 'service' }
      if (rule.set.has(name)) return { name, by: `${pointer}/set/${name}`, why: 'set' }
      if (!includesProperty(rule.properties, name)) return findLine(name, written)
      return { name, by: pointer, why: name === roleField ? 'role' : 'service' }
    })
}

/** The properties of a document that a rule does not show, each with the line of the rule that hides it. */
export function hiddenIn(
  { fields, additionalProperties }: Collection,
  document: StoredDocument,
  { properties }: Rule,
  written: WrittenRule,
): readonly DroppedProperty[] {
  const declared = new Map(fields.map((field) => [field.name, field]))
  const isSeen = (name: string): boolean =>
    !name.startsWith('_') && (isSystemField(name) || declared.has(name) || additionalProperties)
  return Object.keys(document)
    .filter((name) => isSeen(name) && !includesProperty(properties, name))
    .map((name) => findLine(name, written))
}

/** The line of a rule that drops a name. */
function findLine(name: string, { pointer, rule }: WrittenRule): DroppedProperty {
  const place = rule?.omit?.indexOf(name) ?? -1
  if (place >= 0) return { name, by: `${pointer}/omit/${place}`, why: 'omit' }
  return { name, by: `${pointer}/pick`, why: 'pick' }
}

/** Whether a rule could keep a name: other names are dropped by all rules, or are validation errors. */
export const isKeepable = (
  { fields, additionalProperties, verifiedField }: Collection,
  name: string,
): boolean =>
  !isSystemField(name) &&
  name !== verifiedField &&
  (fields.some((field) => field.name === name) || (additionalProperties && isFieldName(name)))
