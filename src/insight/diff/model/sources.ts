import type { Field } from '../../../fields/field-type.js'
import { isObject, readOwn } from '../../../json/own-properties.js'
import { isVariable, NOW } from '../../../query/variable.js'

/** Where a value comes from: a variable of the question, or a value that is known. */
export type Source =
  | { readonly kind: 'variable'; readonly key: string }
  | { readonly kind: 'fixed'; readonly value: unknown }

/** Gives the source of the value at a path of a document. */
export type Sources = (path: string) => Source

export const MISSING: Source = { kind: 'fixed', value: undefined }

/** The keys of variables: of the stored document, of the body, of the caller, and of the time. */
export const storedKey = (path: string): string => `stored.${path}`
export const bodyKey = (path: string): string => `body.${path}`
export const callerKey = (path: string): string => `caller.${path}`
export const TIME = 'now'
export const CALLER_ID = callerKey('_id')

export const variable = (key: string): Source => ({ kind: 'variable', key })
export const fixed = (value: unknown): Source => ({ kind: 'fixed', value })

/** The source of what a variable of the configuration stands for. */
export const sourceOfVariable = (written: string): Source =>
  variable(written === NOW ? TIME : callerKey(written.slice('$user.'.length)))

/** The source at a path inside a written value; its first part names the value itself. */
export function sourceOfWritten(written: unknown, path: readonly string[]): Source {
  if (isVariable(written)) return path.length === 0 ? sourceOfVariable(written) : MISSING
  const [first, ...rest] = path
  if (first === undefined) return fixed(written)
  return isObject(written) ? sourceOfWritten(readOwn(written, first), rest) : MISSING
}

export const isSameSource = (a: Source, b: Source): boolean =>
  a.kind === 'variable'
    ? b.kind === 'variable' && a.key === b.key
    : b.kind === 'fixed' && JSON.stringify(a.value) === JSON.stringify(b.value)

/** The default of a field as a source; one that is the time is the variable of the time. */
export function sourceOfDefault(field: Field): Source {
  const written = 'default' in field.definition ? field.definition.default : undefined
  return written === NOW ? variable(TIME) : fixed(written)
}
