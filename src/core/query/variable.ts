import type { Field } from '../fields/field-type.js'
import type { Scalar } from '../filter/filter.js'
import { isStorable } from '../json/domain.js'
import { isObject, readOwn } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'

/** The values of a claim for one caller (CONTRACT.md §5, "Claims"). */
export interface ClaimValues {
  /** The distinct values, that of the oldest document first. */
  readonly values: readonly Scalar[]
  /** False if there are more documents than the limit, so that values are missing. */
  readonly isWhole: boolean
}

/** The claims of one caller. */
export interface HeldClaims {
  /** Whether this is the name of a claim. */
  has(name: string): boolean
  /** The values of a claim; `undefined` if the caller lacks it. Throws if the claim was not read. */
  get(name: string): ClaimValues | undefined
}

/** The values of the variables of a configuration, in one request. */
export interface Binding {
  /** The caller's own fields, with `_id`; `null` for an anonymous caller. */
  readonly user: JsonObject | null
  /** The time in stored form. */
  readonly now: string
  /** Absent if the configuration has no claims. */
  readonly claims?: HeldClaims | undefined
}

/** The required form of an operand, or the form of a variable's value. */
export type VariableForm = 'single' | 'list'

/**
 * The reason why a variable has no value of the required form that one of these fields can hold; `undefined` if it has
 * one. `fields` is empty if no field is known.
 */
export type JudgeVariable = (
  variable: string,
  form?: VariableForm,
  fields?: readonly Field[],
) => string | undefined

/** The variable of the time. */
export const NOW = '$now'
/** The prefix of the caller's own variables. */
export const USER = '$user.'
/** The variable of the caller's `_id`. */
export const USER_ID = `${USER}_id`

/** Whether a value of a configuration is `"$now"` or `"$user.<field>"`. */
export const isVariable = (value: unknown): value is string =>
  typeof value === 'string' && (value === NOW || value.startsWith(USER))

/** All variables in a value, at any depth, and texts that look like one. */
export function findVariables(value: unknown): readonly string[] {
  if (typeof value === 'string') return /^\$[a-z_]/i.test(value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap(findVariables)
  return isObject(value) ? Object.values(value).flatMap(findVariables) : []
}

/** The dotted name after `$user.`; `undefined` for `$now`. */
export const userPathOf = (variable: string): string | undefined =>
  variable.startsWith(USER) ? variable.slice(USER.length) : undefined

/** The claim that a variable names; `undefined` for any other. */
export function claimIn(claims: { has(name: string): boolean }, variable: unknown): string | undefined {
  const name = typeof variable === 'string' ? userPathOf(variable) : undefined
  return name !== undefined && claims.has(name) ? name : undefined
}

/** Whether a complete claim is required, or the values within the limit suffice. */
export type ClaimShare = 'all' | 'some'

/**
 * Replaces the variables in a value; `undefined` if the caller lacks one, has `null` for it, or has an incomplete claim
 * where a complete one is required.
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
    // A host's caller may have values that are not JSON.
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
