import { SIGNS } from '../../text/signs.js'
import type { TreeLine } from '../../text/tree-line.js'
import type { JudgedComparison, JudgedCondition } from '../explanation.js'

/** The longest value that is printed whole. */
const LONGEST = 60

/** A value as JSON, cut if it is long. */
export function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
}

/** A condition, part by part; `verb` relates the document to a value: `is`, or `would be`. */
export function describeCondition(
  condition: JudgedCondition,
  verb: string,
  depth: number,
): readonly TreeLine[] {
  const { holds: isGood, pointer } = condition
  if (condition.kind === 'comparison')
    return [{ depth, isGood, text: describeComparison(condition, verb), pointer }]
  const text = condition.kind === 'all' ? 'all of' : 'any of'
  return [
    { depth, isGood, text },
    ...condition.parts.flatMap((part) => describeCondition(part, verb, depth + 1)),
  ]
}

function describeComparison(comparison: JudgedComparison, verb: string): string {
  const { field, operator, operand, isLacking } = comparison
  const asked =
    operator === '$exists'
      ? `${field} ${operand === true ? 'exists' : 'is missing'}`
      : `${field} ${SIGNS[operator]} ${describeValue(operand)}`
  const bound = 'bound' in comparison ? ` (${describeValue(comparison.bound)})` : ''
  const found = 'found' in comparison ? `${verb} ${describeValue(comparison.found)}` : `${verb} missing`
  return `${asked}${bound}: ${isLacking ? 'the caller has no such value' : found}`
}
