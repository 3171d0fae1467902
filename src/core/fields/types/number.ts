import type { Scalar } from '../../filter/filter.js'
import { isStorableNumber } from '../../json/domain.js'
import type { DefinitionCheck, DefinitionOf, FieldType, OperandFault } from '../field-type.js'
import { choice, examples, filled, pickKeywords } from '../schema-parts.js'

const bounds = (type: 'number' | 'integer', least: number, most: number) => ({
  minimum: { type, description: 'The least value allowed.', ...examples(least) },
  maximum: { type, description: 'The greatest value allowed.', ...examples(most) },
})

function judgeNumber(operand: Scalar): OperandFault | undefined {
  if (typeof operand !== 'number') return 'type'
  if (isStorableNumber(operand)) return undefined
  return ['out_of_range', UNSTORABLE]
}

const UNSTORABLE = 'must be finite and, if it is an integer, between −(2^53−1) and 2^53−1'

/** Checks that all choices of a definition can be stored. */
function settleChoices<D extends DefinitionOf<'number'> | DefinitionOf<'integer'>>(
  definition: D,
  { refuse }: DefinitionCheck,
): D {
  for (const [i, value] of Object.entries(definition.enum ?? []))
    if (!isStorableNumber(value)) refuse('enum', `can never be stored: it ${UNSTORABLE}`, `/${i}`)
  return definition
}

/** The members that the types `number` and `integer` share. */
const NUMERIC = {
  isScalar: true,
  holdsText: false,
  isOrdered: true,
  isUnbounded: false,
  bounds: ['minimum', 'maximum'],
  bodySchema: ({ definition }) => pickKeywords(definition, ['type', 'minimum', 'maximum', 'enum']),
  compileNormalise: () => (value) => (Object.is(value, -0) ? 0 : value),
  print: (definition, { printChoice }) => (definition.enum ? printChoice(definition.enum) : 'number'),
} as const satisfies Partial<FieldType<'number' | 'integer'>>

/** A finite number. */
export const numberType: FieldType<'number'> = {
  ...NUMERIC,
  description: 'A finite number.',
  valueType: 'number',
  attributes: {
    ...bounds('number', 0, 0.5),
    ...choice('number', [0.5, 1, 2]),
    ...filled({ type: 'number', ...examples(0) }),
  },
  settle: settleChoices,
  judgeOperand: judgeNumber,
}

/** A whole number. */
export const integerType: FieldType<'integer'> = {
  ...NUMERIC,
  description: 'A whole number.',
  valueType: 'integer',
  attributes: {
    ...bounds('integer', 0, 5),
    ...choice('integer', [1, 2, 3]),
    ...filled({ type: 'integer', ...examples(0) }),
  },
  settle: settleChoices,
  judgeOperand: (operand) => judgeNumber(operand) ?? (Number.isInteger(operand) ? undefined : 'type'),
}
