import type { Collection, ServicePlan } from '../../config/plan.js'
import type { Field } from '../../fields/field-type.js'
import { toPointerPart } from '../../json/pointer.js'
import { OPERATIONS } from '../../permissions/grants.js'

/** The places of the rules that use a claim. */
export const rulesThatUse = ({ collections }: ServicePlan, claim: string): readonly string[] =>
  [...collections.values()].flatMap((collection) =>
    OPERATIONS.flatMap((operation) => rulesOfOperation(collection, operation, claim)),
  )

const rulesOfOperation = (
  { name, permissions }: Collection,
  operation: (typeof OPERATIONS)[number],
  claim: string,
): readonly string[] =>
  [...permissions[operation]].flatMap(([subject, rule]) =>
    rule?.claims.includes(claim) ? [placeOf(name, subject, operation)] : [],
  )

const placeOf = (collection: string, subject: string, operation: string): string =>
  `/collections${toPointerPart(collection)}/permissions${toPointerPart(subject)}/${operation}`

/**
 * The consequences of another right to read a collection: references to it may be stored or expanded that could not be
 * before, or no longer can.
 */
export const followReading = ({ collections, auth }: ServicePlan, target: string): readonly string[] =>
  [...collections.values()].flatMap((collection) => {
    const paths = [
      ...collection.fields.flatMap((field) => pathsTo(field, target)),
      ...(auth?.users.name === target ? ['createdBy'] : []),
    ]
    return paths.map((path) =>
      path === 'createdBy'
        ? `${collection.name}.createdBy expands to what may be read here`
        : `${collection.name}.${path} can name, and expands to, what may be read here`,
    )
  })

/** The paths inside a field that refer to a collection. */
function pathsTo({ path, definition, items, properties }: Field, target: string): readonly string[] {
  if (definition.type === 'reference') return definition.collection === target ? [path] : []
  return [...new Set([...(items ? [items] : []), ...properties].flatMap((one) => pathsTo(one, target)))]
}

/** A collection that only one configuration has, without permissions for the other. */
export const withoutPermissions = (collection: Collection): Collection => ({
  ...collection,
  permissions: { create: new Map(), read: new Map(), update: new Map(), delete: new Map() },
})
