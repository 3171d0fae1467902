import type { FieldType } from '../field-type.js'
import { examples, filled } from '../schema-parts.js'

/** True or false. */
export const booleanType: FieldType<'boolean'> = {
  description: 'true or false.',
  isScalar: true,
  holdsText: false,
  isOrdered: false,
  isUnbounded: false,
  valueType: 'boolean',
  attributes: filled({ type: 'boolean', ...examples(false) }),
  bodySchema: () => ({ type: 'boolean' }),
  judgeOperand: (operand) => (typeof operand === 'boolean' ? undefined : 'type'),
  print: () => 'boolean',
}
