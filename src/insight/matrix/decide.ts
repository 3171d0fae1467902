import { covers, type FieldScope, tidy, unite } from './field-sets.js'
import type { MatrixCondition, MatrixRule } from './types.js'

/** Whether two conditions hold for the same documents, as far as their text shows it. */
export const isSameCondition = (a: MatrixCondition | null, b: MatrixCondition | null): boolean =>
  a === null || b === null ? a === b : a.text === b.text

/** Whether every document of `inner` is one of `outer`, as far as their text shows it. */
const holdsFor = (outer: MatrixCondition | null, inner: MatrixCondition | null): boolean =>
  outer === null || isSameCondition(outer, inner)

/**
 * Combines rules for read or delete, which add up: rules for the same documents become one, and a rule that others
 * cover is left out.
 */
export function addUp(rules: readonly MatrixRule[], scope: FieldScope): readonly MatrixRule[] {
  const joined: MatrixRule[] = []
  for (const rule of rules) {
    const place = joined.findIndex(({ where }) => isSameCondition(where, rule.where))
    const known = joined[place]
    if (known) joined[place] = joinRules(known, rule, scope)
    else joined.push(rule)
  }
  const open = joined.find(({ where }) => where === null)
  return joined.filter((rule) => rule === open || !open || !coversRule(open, rule))
}

/** Two rules for the same documents as one. A rule whose fields the other includes is not named. */
function joinRules(a: MatrixRule, b: MatrixRule, scope: FieldScope): MatrixRule {
  if (a.fields && b.fields && !isSameRule(a, b)) {
    if (covers(a.fields, b.fields)) return a
    if (covers(b.fields, a.fields)) return b
  }
  const pointers = [...a.pointers, ...b.pointers]
  const fields = a.fields && b.fields && tidy(unite(a.fields, b.fields), scope)
  if (!a.where || !b.where) return { ...a, pointers, fields }
  const where = { ...a.where, pointers: [...new Set([...a.where.pointers, ...b.where.pointers])] }
  return { ...a, pointers, fields, where }
}

const coversRule = (outer: MatrixRule, inner: MatrixRule): boolean =>
  !outer.fields || !inner.fields || covers(outer.fields, inner.fields)

/**
 * The rules that can run, of those that are tried in order (CONTRACT.md §5): no rule after one that takes every
 * request, and none that is stricter than an earlier one with the same fields and values.
 */
export function cutUnreachable(rules: readonly MatrixRule[]): readonly MatrixRule[] {
  const [first] = rules
  if (first && takesAll(first)) return [first]
  return rules.filter((rule, i) => !rules.slice(0, i).some((earlier) => precludes(earlier, rule)))
}

/** A rule that takes every body is the last one tried: its validation errors are the answer. */
const takesAll = ({ where, fields, set, check }: MatrixRule): boolean =>
  where === null && fields?.kind === 'all' && Object.keys(set).length === 0 && check === null

const precludes = (earlier: MatrixRule, later: MatrixRule): boolean =>
  JSON.stringify([earlier.fields, earlier.set]) === JSON.stringify([later.fields, later.set]) &&
  holdsFor(earlier.where, later.where) &&
  holdsFor(earlier.check, later.check)

/** Whether two rules mean the same, apart from their places. */
const isSameRule = (a: MatrixRule, b: MatrixRule): boolean => keyOf([a]) === keyOf([b])

/** The meaning of rules without their places, as a text that is equal for equal rules. */
export const keyOf = (rules: readonly MatrixRule[]): string =>
  JSON.stringify(rules.map(({ where, fields, set, check }) => [where?.text, fields, set, check?.text]))

/** Whether all documents of the rules are among those that other rules show. */
export const isShown = (rules: readonly MatrixRule[], read: readonly MatrixRule[]): boolean =>
  rules.every(({ where }) => read.some((one) => holdsFor(one.where, where)))
