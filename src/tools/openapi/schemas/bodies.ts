import type { Collection } from '../../../core/config/plan.js'
import type { Field } from '../../../core/fields/field-type.js'
import { holdsImmutable } from '../../../core/fields/schema/changes.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'
import { includesProperty, type Rule } from '../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../core/permissions/write-rules.js'
import { type DescriptionScope, isReadable, valueOptions } from '../scope.js'
import { describeUndeclared } from './documents.js'
import { describeValue, isNeeded } from './value-schema.js'

/** The kind of write to which a body belongs. */
export type BodyUse = 'create' | 'replace' | 'patch'

/** A request body to describe. */
export interface Body {
  readonly collection: Collection
  readonly use: BodyUse
  readonly rules: readonly Rule[]
  /** Properties that are accepted and required, even if a rule says otherwise. */
  readonly always?: readonly string[]
}

/**
 * Describes the bodies that at least one of the rules accepts without dropping properties. The schema may require more
 * fields than the service: every field that any of the rules needs. `undefined` if no body is ever valid because a
 * required field cannot be set.
 */
export function describeBody(scope: DescriptionScope, body: Body): JsonSchema | undefined {
  const { collection, use, always = [] } = body
  const rules = selectPossible(scope, body)
  if (!rules) return undefined
  const offered = collection.fields.filter(
    ({ name }) => always.includes(name) || rules.some((rule) => takes(collection, rule, name)),
  )
  const fields =
    use === 'create' ? offered : offered.filter((field) => isChangeable(scope, collection, field, use))
  const refused = offered.filter((field) => !fields.includes(field)).map(({ name }) => name)
  const { properties, ...open } = describeUndeclared(scope, { collection, rules, refused })
  // The schema must not name a property that the reader cannot know, not even to exclude it.
  const undeclared = refused.every((name) => isKnown(scope, collection, name)) ? open : {}
  const options = valueOptions(scope, collection, use)
  const required = fields
    .map(({ name }) => name)
    .filter((name) => always.includes(name) || isRequired(scope, { ...body, rules }, name))
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(fields.map((field) => [field.name, describeValue(field, options)])),
      ...properties,
    },
    ...undeclared,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

/** Whether a rule stores the value of a property from a body, instead of dropping it or replacing it with `set`. */
const takes = (collection: Collection, rule: Rule, name: string): boolean =>
  acceptsProperty(rule, name, collection) && !rule.set.has(name)

/** Returns the required fields that neither the rule nor a hook sets. */
const neededBy = ({ collection, use }: Body, rule: Rule): readonly Field[] =>
  collection.fields.filter(
    (field) =>
      isNeeded(field, use) &&
      !rule.set.has(field.name) &&
      !(use === 'create' && collection.fills.has(field.name)),
  )

/**
 * Returns the rules under which a body can be valid; `undefined` if there is none. The service tries rules that drop
 * nothing of a body first, and responds with the validation errors of the rule that it tries first. So the first
 * possible rule counts only if each impossible rule before it drops a property that the possible rule needs.
 */
function selectPossible(scope: DescriptionScope, body: Body): readonly Rule[] | undefined {
  const { reader } = scope
  const { collection, use, rules, always = [] } = body
  if (use !== 'create') return rules
  const isGiven = (rule: Rule, field: Field): boolean =>
    always.includes(field.name) || (takes(collection, rule, field.name) && hasValues(scope, field))
  const possible = rules.filter((rule) => neededBy(body, rule).every((field) => isGiven(rule, field)))
  const [first] = possible
  if (!first) return undefined
  if (reader === undefined || possible.length === rules.length) return possible
  const before = rules.slice(0, rules.indexOf(first))
  const needed = neededBy(body, first).map(({ name }) => name)
  return before.every((rule) => needed.some((name) => !includesProperty(rule.properties, name)))
    ? [first]
    : undefined
}

/** Whether a writer can give a field a value. A reference needs a target collection that the writer may read. */
function hasValues(scope: DescriptionScope, field: Field): boolean {
  const { definition, properties, items } = field
  if (definition.type === 'reference') return scope.findTarget(field) !== undefined
  if (definition.type === 'array') return !definition.minItems || !items || hasValues(scope, items)
  return properties.every((inner) => !isNeeded(inner, 'create') || hasValues(scope, inner))
}

/**
 * Whether the schema requires a field. Without a reader: if all rules need it. For one reader: if any rule needs it,
 * because any of them may be the first that the service tries.
 */
function isRequired(scope: DescriptionScope, body: Body, name: string): boolean {
  const { collection, use, rules } = body
  if (use === 'patch') return false
  const needs = (rule: Rule): boolean =>
    neededBy(body, rule).some((field) => field.name === name && takes(collection, rule, name))
  const isNeededThere = scope.reader === undefined ? rules.every(needs) : rules.some(needs)
  return isNeededThere && (use === 'create' || isReplaced(scope, collection, name))
}

/** Whether a PUT removes a stored property that its body does not contain. */
const isReplaced = (scope: DescriptionScope, collection: Collection, name: string): boolean =>
  name !== collection.roleField && isReadable(scope, collection, name)

/** Whether the reader may read a property, or set it on a new document. */
const isKnown = (scope: DescriptionScope, collection: Collection, name: string): boolean =>
  isReadable(scope, collection, name) ||
  scope.rights(collection).create.some((rule) => takes(collection, rule, name))

/** Whether an update may contain a field without a validation error, for every possible stored value. */
function isChangeable(scope: DescriptionScope, collection: Collection, field: Field, use: BodyUse): boolean {
  if (field.definition.immutable) return false
  if (!holdsImmutable(field)) return true
  // A hidden field in a body is a validation error, and so is an immutable field of an object that does not exist yet.
  const { read } = scope.rights(collection)
  const isShown = read.every(({ properties }) => includesProperty(properties, field.name))
  return (scope.reader === undefined || isShown) && (isNeeded(field, use) || !needsImmutable(field))
}

const needsImmutable = ({ properties }: Field): boolean =>
  properties.some(
    (field) => (field.definition.immutable && field.definition.required) || needsImmutable(field),
  )

/** Returns a reference to the schema of a body; `undefined` if the reader has no right, or no body is ever valid. */
export function referToBody(
  scope: DescriptionScope,
  collection: Collection,
  use: BodyUse,
): JsonSchema | undefined {
  const { create, update } = scope.rights(collection)
  const rules = use === 'create' ? create : update
  const schema = rules.length > 0 ? describeBody(scope, { collection, use, rules }) : undefined
  return schema && scope.components.refer('schemas', `${collection.name}.${use}`, () => schema)
}

/** Returns the reference of `referToBody`, but excludes secrets, because a batch cannot set them. */
export function referToPlainBody(
  scope: DescriptionScope,
  collection: Collection,
  use: BodyUse,
): JsonSchema | undefined {
  const body = referToBody(scope, collection, use)
  const { create, update } = scope.rights(collection)
  const secrets = collection.hashes.filter(({ name }) =>
    (use === 'create' ? create : update).some((rule) => takes(collection, rule, name)),
  )
  if (!body || secrets.length === 0) return body
  return {
    allOf: [
      body,
      { type: 'object', properties: Object.fromEntries(secrets.map(({ name }) => [name, { type: 'null' }])) },
    ],
  }
}
