import type { Field } from '../../../fields/field-type.js'
import type { Rule } from '../../../permissions/grants.js'
import { findVariables } from '../../../query/variable.js'
import { always, MISSING, type Source, type Sources, sourceOfWritten, variable } from '../model/sources.js'
import { isFittingSet, isThere } from '../model/values.js'
import { type Diagram, NEVER } from '../solver/diagrams.js'
import type { Write } from './writing.js'

/** Holds if the caller has all values that a rule's `set` names. */
export const isBound = ({ sight: { logic } }: Write, { set }: Rule): Diagram =>
  logic.and(
    ...[...set.values()]
      .flatMap(findVariables)
      .map((name) => isThere(logic, always(sourceOfWritten(name, [])))),
  )

/** Holds if a rule sets a field to a value of the caller that is invalid for it. */
export function isUnfit({ sight: { logic, collection } }: Write, rule: Rule, field: Field): Diagram {
  const written = rule.set.get(field.name)
  if (findVariables(written).length === 0) return NEVER
  return logic.not(isFittingSet(logic, collection, field, written))
}

/** The validation errors of a body under a rule, and the condition that there is none. */
export interface RuleFaults {
  readonly faults: ReadonlyMap<string, Diagram>
  readonly isSound: Diagram
}

/** An invalid value of the caller is not an error of the body: such a rule does not run. */
export function judgeFaults(write: Write, rule: Rule, found: ReadonlyMap<string, Diagram>): RuleFaults {
  const { and, or, not } = write.sight.logic
  const bound = isBound(write, rule)
  const own = [...found].filter(([fault, when]) => {
    const [name = ''] = fault.split(' ')
    return when !== NEVER && findVariables(rule.set.get(name)).length === 0
  })
  return {
    faults: new Map(own.map(([fault, when]) => [fault, and(bound, when)])),
    isSound: not(or(...found.values())),
  }
}

/** The sources inside the values of fields. */
export const inside =
  (rule: Rule, sourcesOf: Sources): Sources =>
  (path) => {
    const [name = path, ...rest] = path.split('.')
    if (rest.length === 0) return sourcesOf(name)
    const within = (source: Source): Source => {
      if (source.kind === 'fixed') return sourceOfWritten(source.value, rest)
      return rule.set.has(name) ? MISSING : variable(`${source.key}.${rest.join('.')}`)
    }
    return sourcesOf(name).map(([when, source]) => [when, within(source)] as const)
  }

export const withSystem =
  (sources: Sources, system: { readonly [name: string]: Source }): Sources =>
  (path) => {
    const own = Object.hasOwn(system, path) ? system[path] : undefined
    return own ? always(own) : sources(path)
  }
