import { isStorable } from '../json/domain.js'
import { isObject, readOwn } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'

/** What the variables of a configuration stand for in one request. */
export interface Binding {
  /** The caller's own fields, with `_id`; `null` for nobody. */
  readonly user: JsonObject | null
  /** The time in stored form. */
  readonly now: string
}

/** What a place in a configuration takes, or a variable stands for. */
export type VariableForm = 'single' | 'list'

/** Why a variable stands for nothing, or for nothing of the form that its place takes, if so. */
export type JudgeVariable = (variable: string, form?: VariableForm) => string | undefined

export const NOW = '$now'
const USER = '$user.'

/** Whether a value of a configuration is `"$now"` or `"$user.<field>"`. */
export const isVariable = (value: unknown): value is string =>
  typeof value === 'string' && (value === NOW || value.startsWith(USER))

/** Text that was meant as a variable, by the looks of it, and is none. */
export const resemblesVariable = (text: string): boolean =>
  !isVariable(text) && /^\$(?:users?|now|me)\b/i.test(text)

/** All variables in a value, at whatever depth, and what was meant as one. */
export function findVariables(value: unknown): readonly string[] {
  if (typeof value === 'string') return isVariable(value) || resemblesVariable(value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap(findVariables)
  return isObject(value) ? Object.values(value).flatMap(findVariables) : []
}

/** The dotted name behind `$user.`; `undefined` for `$now`. */
export const userPathOf = (variable: string): string | undefined =>
  variable.startsWith(USER) ? variable.slice(USER.length) : undefined

/** A value with its variables put in; `undefined` where the caller lacks one, or holds it as `null`. */
export function bindValue(value: unknown, binding: Binding): { readonly value: unknown } | undefined {
  if (isVariable(value)) {
    const bound = readVariable(value, binding)
    // A host's callers may hold what is no JSON.
    const isHeld = bound !== undefined && [bound].flat().every((value) => value !== null) && isStorable(bound)
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
