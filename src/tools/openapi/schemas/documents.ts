import type { Collection } from '../../../core/config/plan.js'
import { FIELD_NAME, RESERVED_FIELD_NAMES } from '../../../core/fields/names.js'
import { isSystemField } from '../../../core/fields/schema/names.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'
import type { Rule } from '../../../core/permissions/grants.js'
import { includesProperty } from '../../../core/permissions/grants.js'
import { type DescriptionScope, isReadable, SYSTEM, valueOptions } from '../scope.js'
import { describeValue } from './value-schema.js'

/** Returns a reference to the schema of a document as the reader may read it. Only `_id` is required. */
export const referToDocument = (scope: DescriptionScope, collection: Collection): JsonSchema =>
  scope.components.refer('schemas', collection.name, () => describeDocument(scope, collection, false))

/** Returns a reference to the schema of a document in which target documents may replace references. */
export const referToExpanded = (scope: DescriptionScope, collection: Collection): JsonSchema =>
  isExpandable(scope, collection)
    ? scope.components.refer('schemas', `${collection.name}.expanded`, () =>
        describeDocument(scope, collection, true),
      )
    : referToDocument(scope, collection)

/** Whether the reader can expand at least one reference of a collection. */
const isExpandable = (scope: DescriptionScope, collection: Collection): boolean => {
  const { find, paths } = scope.names(collection)
  return paths().some((path) => {
    const field = find(path)
    return field !== undefined && scope.findTarget(field) !== undefined
  })
}

function describeDocument(scope: DescriptionScope, collection: Collection, isExpanded: boolean): JsonSchema {
  return {
    type: 'object',
    properties: {
      _id: { type: 'string' },
      ...describeShown(scope, collection, isExpanded),
    },
    required: ['_id'],
    additionalProperties: isOpen(scope, collection),
  }
}

/** Describes the properties of a document that the reader may read, except `_id`. */
export function describeShown(
  scope: DescriptionScope,
  collection: Collection,
  isExpanded = false,
): { readonly [name: string]: JsonSchema } {
  const options = valueOptions(scope, collection, 'answer', (target, own) =>
    isExpanded ? { anyOf: [own, referToExpanded(scope, target)] } : own,
  )
  const declared = collection.fields.filter(
    ({ name, type }) => type !== 'hash' && isReadable(scope, collection, name),
  )
  const undeclared = findUndeclared(collection, scope.rights(collection).read)
  const system = SYSTEM.filter(({ name }) => isReadable(scope, collection, name))
  return Object.fromEntries([
    ...declared.map((field) => [field.name, describeValue(field, options)]),
    ...undeclared.map((name) => [name, {}]),
    ...system.map((field) => [
      field.name,
      field.name === 'createdBy' ? describeCreator(scope, isExpanded) : describeValue(field, options),
    ]),
  ])
}

/** Returns the property names that occur in rules but are not declared in the schema. */
function findUndeclared(
  { additionalProperties, fields }: Collection,
  rules: readonly Rule[],
): readonly string[] {
  if (!additionalProperties) return []
  const known = new Set(fields.map(({ name }) => name))
  return rules.flatMap(({ properties }) =>
    [...(properties.pick ?? [])].filter(
      (name) => !known.has(name) && !isSystemField(name) && includesProperty(properties, name),
    ),
  )
}

/** Whether the reader may read properties that the schema of a collection does not declare. */
export const isOpen = (scope: DescriptionScope, collection: Collection): boolean =>
  collection.additionalProperties &&
  scope.rights(collection).read.some(({ properties }) => properties.pick === null)

/** Describes `createdBy`. It is `null` if the document was created anonymously. */
function describeCreator(scope: DescriptionScope, isExpanded: boolean): JsonSchema {
  const [field] = SYSTEM.filter(({ name }) => name === 'createdBy')
  const target = field && scope.findTarget(field)
  const own = { type: ['string', 'null'], ...(target ? { 'x-collection': target.name } : {}) }
  return target && isExpanded ? { anyOf: [own, referToExpanded(scope, target)] } : own
}

/** Describes the properties that a body may contain although the schema does not declare them. */
export function describeUndeclared(
  scope: DescriptionScope,
  {
    collection,
    rules,
    refused,
  }: {
    readonly collection: Collection
    readonly rules: readonly Rule[]
    /** Names of declared properties that the body must not contain. */
    readonly refused: readonly string[]
  },
): { readonly properties: JsonSchema; readonly patternProperties?: JsonSchema } {
  if (!collection.additionalProperties) return { properties: {} }
  const any = valueOptions(scope, collection, 'element').describeAny()
  const properties = Object.fromEntries(findUndeclared(collection, rules).map((name) => [name, any]))
  if (rules.every((rule) => rule.properties.pick !== null)) return { properties }
  const others = [...RESERVED_FIELD_NAMES, ...refused].join('|')
  return { properties, patternProperties: { [`^(?!(?:${others})$)${FIELD_NAME.slice(1)}`]: any } }
}
