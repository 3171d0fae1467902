import { UNSURE } from '../../config/shape/settle-shape.js'
import { compileFields } from '../../fields/compile-fields.js'
import type { Field } from '../../fields/field-type.js'
import { fieldTypeOf } from '../../fields/field-types.js'
import { isFieldName } from '../../fields/schema/names.js'
import type { Config, FieldDefinition } from '../../types.js'

/**
 * Returns the claims as fields of callers, with the types that are known before compilation, so that rules can be
 * checked against them.
 */
export const findClaimFields = ({ collections, auth }: Partial<Config>): ReadonlyMap<string, Field> =>
  new Map(
    compileFields(
      Object.fromEntries(
        Object.entries(auth?.claims ?? {})
          // Other names are reported elsewhere.
          .filter(([name]) => isFieldName(name))
          .map(([name, { from, take }]) => [
            name,
            { type: 'array', items: takenFrom(collections, from, take) },
          ]),
      ),
    ).map((field) => [field.name, field]),
  )

function takenFrom(
  collections: Config['collections'] | undefined,
  from: string,
  take: string,
): FieldDefinition {
  if (take === '_id') return { type: 'string' }
  const schema = collections && Object.hasOwn(collections, from) ? collections[from]?.schema : undefined
  const definition = schema && Object.hasOwn(schema, take) ? schema[take] : undefined
  return definition && fieldTypeOf(definition.type).isScalar ? definition : UNSURE
}
