import type { Field } from '../fields/field-type.js'
import type { Scalar } from '../filter/filter.js'
import { isStorable } from '../json/domain.js'
import { isObject, readOwn } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'

/** The values of a claim for one caller (CONTRACT.md §5, "Claims"). */
export interface ClaimValues {
  /** The distinct values. The value of the oldest document comes first. */
  readonly values: readonly Scalar[]
  /** Whether all values were read: false if there are more documents than the limit. */
  readonly isWhole: boolean
  /** The documents from which the values were read. Present only for claims that other claims use. */
  readonly documents?: readonly { readonly id: string; readonly version: number }[]
}

/** The values of all claims of one caller. */
export interface HeldClaims {
  /** Whether the configuration declares a claim of this name. */
  has(name: string): boolean
  /** Returns the values of a claim; `undefined` if the caller has none. Throws if the claim was not read. */
  get(name: string): ClaimValues | undefined
}

/** The values of the variables of a configuration, in one request. */
export interface Binding {
  /** The caller's own fields, including `_id`; `null` for an anonymous caller. */
  readonly user: JsonObject | null
  /** The time in stored form. */
  readonly now: string
  /** The caller's claims; missing if the configuration declares no claims. */
  readonly claims?: HeldClaims | undefined
}

/** The form of an operand or of a variable's value: a single value or a list. */
export type VariableForm = 'single' | 'list'

/**
 * Returns the reason why a variable cannot be used: it has no value of the required form that one of `fields`
 * can contain. Returns `undefined` if it can be used. `fields` is empty if no field is known.
 */
export type JudgeVariable = (
  variable: string,
  form?: VariableForm,
  fields?: readonly Field[],
) => string | undefined

/** The variable for the time. */
export const NOW = '$now'
/** The prefix of the variables for the caller's own fields. */
export const USER = '$user.'
/** The variable for the caller's `_id`. */
export const USER_ID = `${USER}_id`

/** Whether a value of a configuration is `"$now"` or `"$user.<field>"`. */
export const isVariable = (value: unknown): value is string =>
  typeof value === 'string' && (value === NOW || value.startsWith(USER))

/** Returns all variables in a value, at any depth, and strings that look like a variable. */
export function findVariables(value: unknown): readonly string[] {
  if (typeof value === 'string') return /^\$[a-z_]/i.test(value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap(findVariables)
  return isObject(value) ? Object.values(value).flatMap(findVariables) : []
}

/** Returns the dotted name after `$user.`; `undefined` for `$now`. */
export const userPathOf = (variable: string): string | undefined =>
  variable.startsWith(USER) ? variable.slice(USER.length) : undefined

/** Returns the name of the claim that a variable names; `undefined` for any other variable. */
export function claimIn(claims: { has(name: string): boolean }, variable: unknown): string | undefined {
  const name = typeof variable === 'string' ? userPathOf(variable) : undefined
  return name !== undefined && claims.has(name) ? name : undefined
}

/** How much of a claim is required: all its values, or only those within the limit (`some`). */
export type ClaimShare = 'all' | 'some'

/**
 * Replaces the variables in a value. Returns `undefined` if a variable has no value for the caller, has
 * `null`, or is an incomplete claim and `share` is `all`.
 */
export function bindValue(
  value: unknown,
  binding: Binding,
  share: ClaimShare = 'all',
): { readonly value: unknown } | undefined {
  if (isVariable(value)) {
    const { claims } = binding
    const claim = claims && claimIn(claims, value)
    if (claim !== undefined) return bindClaim(claims?.get(claim), share)
    const bound = readVariable(value, binding)
    // The fields of a caller that the host application authenticated may contain values that are not JSON.
    const isHeld = bound !== undefined && isWithoutNull(bound) && isStorable(bound)
    return isHeld ? { value: bound } : undefined
  }
  if (Array.isArray(value)) {
    const bound = value.map((element) => bindValue(element, binding))
    return bound.includes(undefined) ? undefined : { value: bound.map((element) => element?.value) }
  }
  if (!isObject(value)) return { value }
  const entries = Object.entries(value).map(([name, inner]) => [name, bindValue(inner, binding)] as const)
  if (entries.some(([, inner]) => inner === undefined)) return undefined
  return { value: Object.fromEntries(entries.map(([name, inner]) => [name, inner?.value])) }
}

const isWithoutNull = (value: unknown): boolean =>
  value !== null && !(Array.isArray(value) && value.includes(null))

const bindClaim = (
  claim: ClaimValues | undefined,
  share: ClaimShare,
): { readonly value: unknown } | undefined =>
  claim && (claim.isWhole || share === 'some') ? { value: claim.values } : undefined

function readVariable(variable: string, { user, now }: Binding): unknown {
  const path = userPathOf(variable)
  if (path === undefined) return now
  let value: unknown = user
  for (const name of path.split('.')) {
    if (!isObject(value)) return undefined
    value = readOwn(value, name)
  }
  return value
}
