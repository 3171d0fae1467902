import type { Field } from '../../../../core/fields/field-type.js'
import { normalise, normalisePatch } from '../../../../core/fields/schema/normalise.js'
import { isObject, readOwn } from '../../../../core/json/own-properties.js'
import { findVariables, isVariable, NOW } from '../../../../core/query/variable.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'

/** A variable of the search for a counterexample. Its value is not known yet. */
export interface VariableSource {
  readonly kind: 'variable'
  readonly key: string
}

/** The source of a value: a variable, or a known value. */
export type Source = VariableSource | { readonly kind: 'fixed'; readonly value: unknown }

/** The possible sources of a value, each with its condition. Exactly one of the conditions is true. */
export type Cases = readonly (readonly [when: Diagram, source: Source])[]

/** Returns the sources of the value at a path of a document. */
export type Sources = (path: string) => Cases

/** Returns the cases of a value that has only one source. */
export const always = (source: Source): Cases => [[ALWAYS, source]]

/** Returns `cases` if the condition `when` is true, and `others` if it is false. */
export function choose({ and, not }: Logic, when: Diagram, cases: Cases, others: Cases): Cases {
  if (when === NEVER || when === ALWAYS) return when === ALWAYS ? cases : others
  const ifNot = not(when)
  return [
    ...cases.map((one) => [and(when, one[0]), one[1]] as const),
    ...others.map((one) => [and(ifNot, one[0]), one[1]] as const),
  ].filter((one) => one[0] !== NEVER)
}

/** Returns the condition under which `holds` is true for the source that a value has. */
export const overCases = ({ and, or }: Logic, cases: Cases, holds: (source: Source) => Diagram): Diagram =>
  or(...cases.map((one) => and(one[0], holds(one[1]))))

export const MISSING: Source = { kind: 'fixed', value: undefined }

/** The keys of variables: fields of the stored document, of the body and of the caller, and the time. */
export const storedKey = (path: string): string => `stored.${path}`
export const bodyKey = (path: string): string => `body.${path}`
export const callerKey = (path: string): string => `caller.${path}`
export const TIME = 'now'
export const CALLER_ID = callerKey('_id')

export const variable = (key: string): VariableSource => ({ kind: 'variable', key })
export const fixed = (value: unknown): Source => ({ kind: 'fixed', value })

/** Returns the source of a `$user.…` or `$now` variable of the configuration. */
export const sourceOfVariable = (written: string): VariableSource =>
  variable(written === NOW ? TIME : callerKey(written.slice('$user.'.length)))

/** Returns the source of the value at a path inside a value of the configuration. An empty path is the value itself. */
export function sourceOfWritten(written: unknown, path: readonly string[]): Source {
  if (isVariable(written)) return path.length === 0 ? sourceOfVariable(written) : MISSING
  const [first, ...rest] = path
  if (first === undefined) return fixed(written)
  return isObject(written) ? sourceOfWritten(readOwn(written, first), rest) : MISSING
}

/**
 * Returns the source of a value of the configuration, or of a missing value, after defaults are applied. Defaults also
 * replace missing values inside objects.
 */
export const sourceOfFilled = (field: Field | undefined, written?: unknown): Source =>
  sourceOfWritten(field ? fill(field, written) : written, [])

/** Returns the source of a value of the configuration that is merged into the stored value. */
export const sourceOfMerged = (field: Field | undefined, written: unknown): Source =>
  sourceOfWritten(field && isPlain(written) ? (normalisePatch(field, written) ?? undefined) : written, [])

/** Whether a value contains no variables. Values with variables stay as they are written. */
const isPlain = (value: unknown): boolean => value !== undefined && findVariables(value).length === 0

const SOME_TIME = '2026-01-01T00:00:00.000Z'

/** Returns a value of the configuration as stored, with its defaults. In a nullable field, `null` means no value. */
function fill(field: Field, written: unknown): unknown {
  const { definition, properties } = field
  const isNone = written === undefined || (written === null && definition.nullable === true)
  // A field may have a default that is never applied.
  const isFilled = 'default' in definition && field.defaultAt(SOME_TIME) !== undefined
  const value = isNone ? (isFilled ? definition.default : undefined) : written
  if (properties.length === 0 || !isObject(value)) return isPlain(value) ? normalise(field, value) : value
  const filled = properties.map((property) => [property.name, fill(property, readOwn(value, property.name))])
  return { ...value, ...Object.fromEntries(filled.filter(([, inner]) => inner !== undefined)) }
}
