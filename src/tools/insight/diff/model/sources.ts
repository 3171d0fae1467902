import type { Field } from '../../../../core/fields/field-type.js'
import { normalise, normalisePatch } from '../../../../core/fields/schema/normalise.js'
import { isObject, readOwn } from '../../../../core/json/own-properties.js'
import { findVariables, isVariable, NOW } from '../../../../core/query/variable.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'

/** A variable of the question. */
export interface VariableSource {
  readonly kind: 'variable'
  readonly key: string
}

/** The source of a value: a variable of the question, or a known value. */
export type Source = VariableSource | { readonly kind: 'fixed'; readonly value: unknown }

/** The possible sources of a value, each with its condition: exactly one of them holds. */
export type Cases = readonly (readonly [when: Diagram, source: Source])[]

/** Gives the sources of the value at a path of a document. */
export type Sources = (path: string) => Cases

/** The cases of a value with one source. */
export const always = (source: Source): Cases => [[ALWAYS, source]]

/** A choice of cases. */
export function choose({ and, not }: Logic, when: Diagram, cases: Cases, others: Cases): Cases {
  if (when === NEVER || when === ALWAYS) return when === ALWAYS ? cases : others
  const ifNot = not(when)
  return [
    ...cases.map((one) => [and(when, one[0]), one[1]] as const),
    ...others.map((one) => [and(ifNot, one[0]), one[1]] as const),
  ].filter((one) => one[0] !== NEVER)
}

/** Holds if a condition is met by a value, whichever its source. */
export const overCases = ({ and, or }: Logic, cases: Cases, holds: (source: Source) => Diagram): Diagram =>
  or(...cases.map((one) => and(one[0], holds(one[1]))))

export const MISSING: Source = { kind: 'fixed', value: undefined }

/** The keys of variables: of the stored document, of the body, of the caller, and of the time. */
export const storedKey = (path: string): string => `stored.${path}`
export const bodyKey = (path: string): string => `body.${path}`
export const callerKey = (path: string): string => `caller.${path}`
export const TIME = 'now'
export const CALLER_ID = callerKey('_id')

export const variable = (key: string): VariableSource => ({ kind: 'variable', key })
export const fixed = (value: unknown): Source => ({ kind: 'fixed', value })

/** The source of a variable of the configuration. */
export const sourceOfVariable = (written: string): VariableSource =>
  variable(written === NOW ? TIME : callerKey(written.slice('$user.'.length)))

/** The source at a path inside a written value; its first part names the value itself. */
export function sourceOfWritten(written: unknown, path: readonly string[]): Source {
  if (isVariable(written)) return path.length === 0 ? sourceOfVariable(written) : MISSING
  const [first, ...rest] = path
  if (first === undefined) return fixed(written)
  return isObject(written) ? sourceOfWritten(readOwn(written, first), rest) : MISSING
}

/** The source of a written value, or of none; defaults replace missing values, also inside objects. */
export const sourceOfFilled = (field: Field | undefined, written?: unknown): Source =>
  sourceOfWritten(field ? fill(field, written) : written, [])

/** The source of a value that is merged into the stored one. */
export const sourceOfMerged = (field: Field | undefined, written: unknown): Source =>
  sourceOfWritten(field && isPlain(written) ? (normalisePatch(field, written) ?? undefined) : written, [])

/** Whether a value has no variables; values with variables stay as written. */
const isPlain = (value: unknown): boolean => value !== undefined && findVariables(value).length === 0

const SOME_TIME = '2026-01-01T00:00:00.000Z'

/** A written value as it is stored, with its defaults. `null` means no value for a nullable field. */
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
