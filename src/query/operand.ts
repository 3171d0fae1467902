import type { Field } from '../fields/field-type.js'
import type { OperatorName } from '../types.js'
import { ConditionFault, elementOf } from './condition.js'
import { operatorOf } from './operators.js'

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Reads the text of a query value as JSON, as far as CONTRACT.md §3.1 says it is: what begins with `"`, `[` or `{` must
 * be JSON; for fields that hold strings any other text but `null` is text. Throws `ConditionFault`.
 */
export function readOperand(field: Field, operator: OperatorName, text: string): unknown {
  const { operand } = operatorOf(operator)
  switch (operand) {
    case 'flag':
      if (text !== 'true' && text !== 'false') throw new ConditionFault('wrong_type', 'must be true or false')
      return text === 'true'
    case 'list':
      return readJson(text)
    case 'pattern':
      return text.startsWith('"') ? readJson(text) : text
    case 'scalar':
    case 'ordered':
      return readScalar(field, text)
    default:
      return operand satisfies never
  }
}

function readScalar(field: Field, text: string): unknown {
  if (/^["[{]/.test(text)) return readJson(text)
  if (text === 'null') return null
  if (elementOf(field).fieldType.holdsText) return text
  if (text === 'true' || text === 'false') return text === 'true'
  if (!JSON_NUMBER.test(text)) return text
  const value = Number(text)
  // Too small to be told from zero: another number than the one that was written.
  if (value === 0 && /^-?[0.]*[1-9]/.test(text))
    throw new ConditionFault('out_of_range', 'is too close to zero')
  return value
}

function readJson(text: string): unknown {
  try {
    // White space around a value would be dropped without a word.
    if (text === text.trim()) return JSON.parse(text)
  } catch {}
  throw new ConditionFault('malformed', 'begins like JSON but is none')
}
