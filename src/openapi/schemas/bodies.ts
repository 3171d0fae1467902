import type { Collection } from '../../config/plan.js'
import type { Field } from '../../fields/field-type.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { includesProperty, type Rule } from '../../permissions/grants.js'
import { acceptsProperty } from '../../permissions/write-rules.js'
import { holdsImmutable } from '../../schema/changes.js'
import { type DescriptionScope, isReadable, valueOptions } from '../scope.js'
import { describeUndeclared } from './documents.js'
import { describeValue, isNeeded } from './value-schema.js'

/** What the body of a write is. */
export type BodyUse = 'create' | 'replace' | 'patch'

/** A body to describe. */
export interface Body {
  readonly collection: Collection
  readonly use: BodyUse
  readonly rules: readonly Rule[]
  /** Properties that are accepted and required whatever the rules say. */
  readonly always?: readonly string[]
}

/**
 * The schema of a body that one of some rules accepts whole. It may ask for more than the service does: what any of
 * the rules needs. `undefined` where no body is ever valid, because nothing can give what is required.
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
  // A name of which the reader knows nothing else cannot be left out by its name.
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

/** Whether a rule stores what a body gives a property. */
const takes = (collection: Collection, rule: Rule, name: string): boolean =>
  acceptsProperty(rule, name, collection) && !rule.set.has(name)

/** The fields without which a document would be at fault under a rule that does not set them, and that no hook fills. */
const neededBy = ({ collection, use }: Body, rule: Rule): readonly Field[] =>
  collection.fields.filter(
    (field) =>
      isNeeded(field, use) &&
      !rule.set.has(field.name) &&
      !(use === 'create' && collection.fills.has(field.name)),
  )

/**
 * Rules under which a body can be valid. One that can never be, and comes first, answers with its faults: then only
 * bodies count of which another keeps more.
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

/** Whether a writer can give a field any value: a reference leads to what they may read. */
function hasValues(scope: DescriptionScope, field: Field): boolean {
  const { definition, properties, items } = field
  if (definition.type === 'reference') return scope.findTarget(field) !== undefined
  if (definition.type === 'array') return !definition.minItems || !items || hasValues(scope, items)
  return properties.every((inner) => !isNeeded(inner, 'create') || hasValues(scope, inner))
}

/**
 * What every reader needs, where all are described together; else what any of the rules needs, for each may be the
 * first that is tried.
 */
function isRequired(scope: DescriptionScope, body: Body, name: string): boolean {
  const { collection, use, rules } = body
  if (use === 'patch') return false
  const needs = (rule: Rule): boolean =>
    neededBy(body, rule).some((field) => field.name === name && takes(collection, rule, name))
  const isNeededThere = scope.reader === undefined ? rules.every(needs) : rules.some(needs)
  return isNeededThere && (use === 'create' || isReplaced(scope, collection, name))
}

/** Whether a PUT removes what it does not name. */
const isReplaced = (scope: DescriptionScope, collection: Collection, name: string): boolean =>
  name !== collection.roleField && isReadable(scope, collection, name)

/** Whether the reader may read a property, or give it to a new document. */
const isKnown = (scope: DescriptionScope, collection: Collection, name: string): boolean =>
  isReadable(scope, collection, name) ||
  scope.rights(collection).create.some((rule) => takes(collection, rule, name))

/** Whether an update may name a field without a fault, whatever is stored. */
function isChangeable(scope: DescriptionScope, collection: Collection, field: Field, use: BodyUse): boolean {
  if (field.definition.immutable) return false
  if (!holdsImmutable(field)) return true
  // Where the reader may not see it, naming it is a fault; where it is missing, what is immutable inside cannot be given.
  const { read } = scope.rights(collection)
  const isShown = read.every(({ properties }) => includesProperty(properties, field.name))
  return (scope.reader === undefined || isShown) && (isNeeded(field, use) || !needsImmutable(field))
}

const needsImmutable = ({ properties }: Field): boolean =>
  properties.some(
    (field) => (field.definition.immutable && field.definition.required) || needsImmutable(field),
  )

/** A reference to the schema of a body; `undefined` where the reader has no right, or no body is ever valid. */
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

/** What `referToBody` gives, without the secrets: a batch sets none. */
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
