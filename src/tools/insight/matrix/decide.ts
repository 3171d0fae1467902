import type { MatrixCondition, MatrixRule } from './types.js'

/** Whether two conditions are true for the same documents, as far as their text shows. */
export const isSameCondition = (a: MatrixCondition | null, b: MatrixCondition | null): boolean =>
  a === null || b === null ? a === b : a.text === b.text

/** Whether each document that meets `inner` also meets `outer`, as far as their text shows. */
const holdsFor = (outer: MatrixCondition | null, inner: MatrixCondition | null): boolean =>
  outer === null || isSameCondition(outer, inner)

/**
 * Returns the rules that can run, if the given rules are tried in order (CONTRACT.md §5). If the first rule accepts
 * every request, no other rule can run. A rule also cannot run after a rule with the same fields and values whose
 * conditions are the same or weaker.
 */
export function cutUnreachable(rules: readonly MatrixRule[]): readonly MatrixRule[] {
  const [first] = rules
  if (first && takesAll(first)) return [first]
  return rules.filter((rule, i) => !rules.slice(0, i).some((earlier) => precludes(earlier, rule)))
}

/** Whether a rule accepts every body. Then no other rule is tried, even after validation errors. */
const takesAll = ({ where, fields, set, check }: MatrixRule): boolean =>
  where === null && fields?.kind === 'all' && Object.keys(set).length === 0 && check === null

const precludes = (earlier: MatrixRule, later: MatrixRule): boolean =>
  JSON.stringify([earlier.fields, earlier.set]) === JSON.stringify([later.fields, later.set]) &&
  holdsFor(earlier.where, later.where) &&
  holdsFor(earlier.check, later.check)

/** Describes rules as a string, without their pointers. Rules with the same meaning have the same string. */
export const keyOf = (rules: readonly MatrixRule[]): string =>
  JSON.stringify(rules.map(({ where, fields, set, check }) => [where?.text, fields, set, check?.text]))

/** Whether all documents to which the rules apply can be read. */
export const isShown = (rules: readonly MatrixRule[], read: readonly MatrixRule[]): boolean =>
  rules.every(({ where }) => read.some((one) => holdsFor(one.where, where)))
