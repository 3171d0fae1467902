import { NOW } from '../../../../core/query/variable.js'
import { ALWAYS, type Diagram, type Logic } from '../solver/logic.js'

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

/** Returns the condition under which `holds` is true for the source that a value has. */
export const overCases = ({ and, or }: Logic, cases: Cases, holds: (source: Source) => Diagram): Diagram =>
  or(...cases.map((one) => and(one[0], holds(one[1]))))

/** The keys of variables: fields of the stored document, of the body and of the caller, and the time. */
export const storedKey = (path: string): string => `stored.${path}`
export const bodyKey = (path: string): string => `body.${path}`
export const callerKey = (path: string): string => `caller.${path}`
export const TIME = 'now'
export const CALLER_ID = callerKey('_id')

/** Returns the source of a known value. */
export const fixed = (value: unknown): Source => ({ kind: 'fixed', value })

export const variable = (key: string): VariableSource => ({ kind: 'variable', key })

/** Returns the source of a `$user.…` or `$now` variable of the configuration. */
export const sourceOfVariable = (written: string): VariableSource =>
  variable(written === NOW ? TIME : callerKey(written.slice('$user.'.length)))
