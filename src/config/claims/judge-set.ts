import type { Field } from '../../fields/field-type.js'
import { isObject } from '../../json/own-properties.js'
import { canHoldClaim } from '../../query/claims/claim-types.js'
import { claimIn } from '../../query/variable.js'
import type { WhereScope } from '../../query/where.js'

/** Why a value of `set` cannot hold the claims in it: a claim is for arrays alone. */
export function judgeClaimsInSet(
  field: Field | undefined,
  value: unknown,
  scope: Pick<WhereScope, 'claims' | 'isUnsure'>,
): readonly string[] {
  if (field && scope.isUnsure(field.path)) return []
  const claim = claimIn(scope.claims, value)
  if (claim !== undefined) {
    const items = field?.items
    const isHeld = items && canHoldClaim(items, scope.claims.get(claim) ?? null)
    return isHeld ? [] : [`is no array of values like those of ${String(value)}`]
  }
  if (Array.isArray(value))
    return value.flatMap((element) => judgeClaimsInSet(field?.items ?? undefined, element, scope))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    judgeClaimsInSet(
      field?.properties.find((property) => property.name === name),
      inner,
      scope,
    ),
  )
}
