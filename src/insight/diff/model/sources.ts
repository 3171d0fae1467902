import type { Field } from '../../../fields/field-type.js'
import { isObject, readOwn } from '../../../json/own-properties.js'
import { isVariable, NOW } from '../../../query/variable.js'
import { ALWAYS, type Diagram, NEVER } from '../solver/diagrams.js'
import type { Logic } from '../solver/logic.js'

/** A variable of the question. */
export interface VariableSource {
  readonly kind: 'variable'
  readonly key: string
}

/** Where a value comes from: a variable of the question, or a value that is known. */
export type Source = VariableSource | { readonly kind: 'fixed'; readonly value: unknown }

/** Where a value may come from, each source with when it does: one of them always, never two. */
export type Cases = readonly (readonly [when: Diagram, source: Source])[]

/** Gives the sources of the value at a path of a document. */
export type Sources = (path: string) => Cases

/** The cases of what has one source. */
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

/** That a condition holds for a value, wherever it comes from. */
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

/** The source of what a variable of the configuration stands for. */
export const sourceOfVariable = (written: string): VariableSource =>
  variable(written === NOW ? TIME : callerKey(written.slice('$user.'.length)))

/** The source at a path inside a written value; its first part names the value itself. */
export function sourceOfWritten(written: unknown, path: readonly string[]): Source {
  if (isVariable(written)) return path.length === 0 ? sourceOfVariable(written) : MISSING
  const [first, ...rest] = path
  if (first === undefined) return fixed(written)
  return isObject(written) ? sourceOfWritten(readOwn(written, first), rest) : MISSING
}

/** The source of a written value, or of none, where defaults take the place of what is missing, also inside objects. */
export const sourceOfFilled = (field: Field | undefined, written?: unknown): Source =>
  sourceOfWritten(field ? fill(field, written) : written, [])

/** A written value with its defaults; variables stay. `null` means that there is none. */
function fill(field: Field, written: unknown): unknown {
  const { definition, properties } = field
  const isNone = written === undefined || (written === null && definition.nullable === true)
  const value = isNone ? ('default' in definition ? definition.default : undefined) : written
  if (properties.length === 0 || !isObject(value)) return value
  const filled = properties.map((property) => [property.name, fill(property, readOwn(value, property.name))])
  return { ...value, ...Object.fromEntries(filled.filter(([, inner]) => inner !== undefined)) }
}
