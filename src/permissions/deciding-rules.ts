import { isAnywhere } from '../query/where.js'
import { includesProperty, OWNER, type PropertySet, type Rule } from './grants.js'

/** Whether a set includes all that another one includes. */
export function covers(a: PropertySet, b: PropertySet): boolean {
  if (a.pick === null) return [...a.omit].every((name) => !includesProperty(b, name))
  return (
    b.pick !== null && [...b.pick].every((name) => !includesProperty(b, name) || includesProperty(a, name))
  )
}

const usesClaims = ({ claims }: Rule): boolean => claims.length > 0

/**
 * The read rules that decide. A rule without claims that holds for every document and shows as much makes a rule with
 * claims redundant: its claims need not be read.
 */
export function selectDeciding(rules: readonly Rule[]): readonly Rule[] {
  if (!rules.some(usesClaims)) return rules
  const general = rules.filter(
    (rule) => !usesClaims(rule) && rule.subject !== OWNER && isAnywhere(rule.where),
  )
  return rules.filter(
    (rule) => !usesClaims(rule) || !general.some(({ properties }) => covers(properties, rule.properties)),
  )
}

/** The rules that decide about a document before claims are read. */
export interface ClaimlessRules {
  /** The rules without claims. */
  readonly free: readonly Rule[]
  /**
   * Those rules without claims that show as much as each rule with claims: if one of these holds, claims add nothing.
   */
  readonly covering: readonly Rule[]
}

/** Divides the deciding rules; `covering` is empty if no rule uses claims. */
export function selectUndemanding(rules: readonly Rule[]): ClaimlessRules {
  const free = rules.filter((rule) => !usesClaims(rule))
  const demanding = rules.filter(usesClaims)
  const covering = free.filter((rule) =>
    demanding.every(({ properties }) => covers(rule.properties, properties)),
  )
  return { free, covering: demanding.length === 0 ? [] : covering }
}
