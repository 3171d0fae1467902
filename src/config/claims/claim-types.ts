import { compileFields } from '../../fields/compile-fields.js'
import type { ComparableType } from '../../filter/filter.js'
import type { ClaimTypes } from '../../query/claims/claim-types.js'
import { isFieldName } from '../../schema/names.js'
import type { Config } from '../../types.js'
import { UNSURE } from '../shape/settle-shape.js'

/**
 * The types of the claims' values, as far as they are known before anything is compiled: rules are checked
 * against them.
 */
export const findClaimTypes = ({ collections, auth }: Partial<Config>): ClaimTypes =>
  new Map(
    Object.entries(auth?.claims ?? {})
      // Another name is a fault already.
      .filter(([name]) => isFieldName(name))
      .map(([name, { from, take }]) => [name, take === '_id' ? 'string' : typeOf(collections, from, take)]),
  )

function typeOf(
  collections: Config['collections'] | undefined,
  from: string,
  take: string,
): ComparableType | null {
  const schema = collections && Object.hasOwn(collections, from) ? collections[from]?.schema : undefined
  const definition = schema && Object.hasOwn(schema, take) ? schema[take] : undefined
  if (!definition || definition === UNSURE) return null
  const [field] = compileFields({ [take]: definition })
  return field?.fieldType.isScalar ? field.fieldType.valueType : null
}
