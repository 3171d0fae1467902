import type { Collection } from '../../../config/plan.js'
import type { Field } from '../../../fields/field-type.js'
import { toPointerPart } from '../../../json/pointer.js'
import { EVERYONE } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import type { Check, CheckScope, LocatedRule } from '../scope.js'

const schemaAt = ({ name }: Collection, field: Field): string =>
  `/collections${toPointerPart(name)}/schema${toPointerPart(field.name)}`

/** Whether anonymous callers create the documents of a collection by registering. */
const hasRegistration = ({ plan: { auth }, authenticate }: CheckScope, collection: Collection): boolean =>
  !authenticate && auth?.users === collection && auth.register

const hasDefault = ({ definition }: Field): boolean =>
  'default' in definition && definition.default !== undefined

/** Fields that the service sets itself, or that have their own route. */
const isOwn = (
  { plan: { auth } }: CheckScope,
  { name, roleField, verifiedField }: Collection,
  field: string,
): boolean =>
  (auth?.users.name === name && [auth.identifier.name, auth.secret.name].includes(field)) ||
  field === roleField ||
  field === verifiedField

const gives = ({ rule, collection, operation }: LocatedRule, { name, definition }: Field): boolean =>
  rule.set.has(name) ||
  (acceptsProperty(rule, name, collection) && !(operation === 'update' && definition.immutable === true))

/** Fields that no rule sets in a collection with create rules. */
export const findUnsettable: Check = (scope, note) => {
  for (const collection of scope.plan.collections.values()) {
    const rules = scope.rules.filter(
      (placed) => placed.collection === collection && ['create', 'update'].includes(placed.operation),
    )
    const isCreated =
      rules.some(({ operation }) => operation === 'create') || hasRegistration(scope, collection)
    if (!isCreated) continue
    for (const field of collection.fields) {
      const isUnfillable = field.definition.required === true && !hasDefault(field)
      // Reported as another finding.
      if (isUnfillable || hasDefault(field) || isOwn(scope, collection, field.name)) continue
      if (!rules.some((placed) => gives(placed, field)))
        note(
          'unsettable_field',
          schemaAt(collection, field),
          'no rule accepts or sets it, and it has no default',
        )
    }
  }
}

/** Required fields that one create rule cannot set and no hook fills; the start reports those that no rule sets. */
export const findUnfillable: Check = (scope, note) => {
  const { plan } = scope
  for (const collection of plan.collections.values()) {
    const isRegistered = hasRegistration(scope, collection)
    const rules = scope.rules.filter(
      (placed) => placed.collection === collection && placed.operation === 'create',
    )
    for (const field of collection.fields) {
      const at = schemaAt(collection, field)
      const isGiven = isOwn(scope, collection, field.name) && field.name !== collection.roleField
      const isKnown = plan.warnings.some(({ code, path }) => code === 'unfillable_field' && path === at)
      const isFilled = hasDefault(field) || collection.fills.has(field.name)
      if (field.definition.required !== true || isFilled || isKnown) continue
      for (const placed of rules) {
        const isByRegistration = isRegistered && placed.subject === EVERYONE && isGiven
        if (!isByRegistration && !gives(placed, field))
          note(
            'unfillable_field',
            placed.pointer,
            `${field.name} is required, and ${placed.subject} cannot set it`,
          )
      }
      const isPermitted = collection.permissions.create.get(EVERYONE)
      if (isRegistered && !isPermitted && !isGiven)
        note(
          'unfillable_field',
          at,
          'is required, and a registration cannot set it: "*" has no right to create',
          'Let "*" create with it, give it a default, close registration, or do not require it.',
        )
    }
  }
}
