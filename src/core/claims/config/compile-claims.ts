import { describeType } from '../../config/describe-type.js'
import type { Claim, Collection } from '../../config/plan.js'
import type { IsUnsure } from '../../config/shape/check-shape.js'
import { isUnsurePath, UNSURE } from '../../config/shape/settle-shape.js'
import type { Field } from '../../fields/field-type.js'
import { checkCase, RESERVED_FIELD_NAMES } from '../../fields/names.js'
import { suggest, USERS } from '../../fields/schema/names.js'
import { compileField } from '../../filter/compare.js'
import { ID } from '../../filter/filter.js'
import type { ParsePattern } from '../../filter/pattern/parse-pattern.js'
import { toPointerPart } from '../../json/pointer.js'
import type { ConfigReport } from '../../json/report.js'
import { claimIn, type JudgeVariable } from '../../query/variable.js'
import { narrowWhere, parseWhere, type Where } from '../../query/where.js'
import type { ClaimConfig, JsonObject } from '../../types.js'
import { createBaseJudge } from './judge-bases.js'

/** The parts of a configuration that claims are checked against. */
interface ClaimScope {
  readonly collections: ReadonlyMap<string, Collection>
  readonly judgeVariable: JudgeVariable
  /** The claims as fields of callers. */
  readonly claims: ReadonlyMap<string, Field>
  readonly parsePattern: ParsePattern
  readonly isUnsure: IsUnsure
  /** The condition under which callers without a role see a user; `null` if there is none. */
  readonly shownIf: Where | null
}

/** Compiles the claims (CONTRACT.md §5, "Claims"). */
export function compileClaims(
  written: { readonly [name: string]: ClaimConfig },
  scope: ClaimScope,
  report: ConfigReport,
): ReadonlyMap<string, Claim> {
  checkCase(Object.keys(written), RESERVED_FIELD_NAMES, report)
  const users = scope.collections.get(USERS)?.fields ?? []
  const judgeFor = createBaseJudge(written, scope)
  const claims = new Map<string, Claim>()
  for (const [name, config] of Object.entries(written)) {
    const place = report.at(name)
    if (users.some((field) => field.name === name))
      place.fault(`is also a field of "${USERS}", so $user.${name} is ambiguous`)
    const claim = compileClaim(name, config, { ...scope, judgeVariable: judgeFor(name) }, place)
    if (claim) claims.set(name, claim)
  }
  return claims
}

function compileClaim(
  name: string,
  { from, where, take }: ClaimConfig,
  { collections, judgeVariable, claims, parsePattern, isUnsure, shownIf }: ClaimScope,
  place: ConfigReport,
): Claim | undefined {
  const collection = collections.get(from)
  if (!collection) {
    const isThere = isUnsure(`/collections${toPointerPart(from)}/schema`)
    const message = `${JSON.stringify(from)} is not a collection${suggest(from, [...collections.keys()])}`
    if (!isThere) place.at('from').fault(message)
    return undefined
  }
  const { paths } = collection
  const whereScope = { paths, judgeVariable, parsePattern, claims, isUnsure: isUnsurePath(paths) }
  const compiled = parseWhere(where, whereScope, place.at('where'))
  const read = compileTake(take, collection, place.at('take'))
  // Without `shownIf`, a claim would reveal whether an identifier has an account, or give rights to unverified
  // accounts.
  const isHiding = from === USERS && shownIf !== null
  // Warnings ignore the added condition, which the author of the claim did not write.
  const narrowed = isHiding ? { ...narrowWhere(compiled, shownIf), ways: compiled.ways } : compiled
  const variables = compiled.kind === 'bound' ? compiled.variables : []
  const bases = new Set(variables.flatMap((variable) => claimIn(claims, variable) ?? []))
  return read && { name, from, where: narrowed, bases: [...bases], ...read }
}

type Taking = Pick<Claim, 'taken' | 'take'>

/**
 * Compiles the function that reads a claim's value from a document. A value that is not of the declared type counts as
 * missing.
 */
function compileTake(take: string, { fields }: Collection, place: ConfigReport): Taking | undefined {
  if (take === '_id')
    return {
      taken: { ...ID, type: 'string' },
      take: ({ _id }: JsonObject) => (typeof _id === 'string' ? _id : undefined),
    }
  const field = fields.find(({ name }) => name === take)
  if (field?.definition === UNSURE) return undefined
  if (field?.ref && field.fieldType.isScalar) {
    const { valueType: type } = field.fieldType
    return { taken: { ...field.ref, type }, take: compileField(field.ref) }
  }
  place.fault(
    `${JSON.stringify(take)} ${field ? `is ${describeType(field)}, but must be a field with a single value` : unknown(take, fields)}`,
  )
  return undefined
}

function unknown(take: string, fields: readonly Field[]): string {
  const known = ['_id', ...fields.filter(({ fieldType }) => fieldType.isScalar).map(({ name }) => name)]
  return `is neither _id nor a top-level field${suggest(take, known)}`
}
