import type { DefinitionCheck, DefinitionOf, FieldType } from '../field-type.js'
import { examples, filled, text } from '../schema-parts.js'
import { parseTimestamp } from '../timestamp.js'
import { judgeText } from './string.js'

const NOW = '$now'

/** A point in time. */
export const timestampType: FieldType<'timestamp'> = {
  description: 'A point in time (RFC 3339). Responses show it in UTC, as in 2026-11-20T08:00:00.000Z.',
  isScalar: true,
  holdsText: true,
  isOrdered: true,
  isUnbounded: false,
  valueType: 'timestamp',
  attributes: {
    minimum: text('The earliest time allowed: an RFC 3339 date-time or date.', '2020-01-01'),
    maximum: text('The latest time allowed: an RFC 3339 date-time or date.', '2099-12-31T23:59:59Z'),
    ...filled(
      { type: 'string', ...examples(NOW, '2026-11-20T08:00:00Z') },
      ' "$now" is the time at which the document is created.',
    ),
  },
  // Both bounds are in stored form. Strings in stored form sort like the times they represent.
  bounds: ['minimum', 'maximum'],
  settle: (definition, check) => ({
    ...definition,
    ...settleTime(definition, 'minimum', check),
    ...settleTime(definition, 'maximum', check),
    ...settleTime(definition, 'default', check),
  }),
  bodySchema: ({ definition: { minimum, maximum } }) => ({
    type: 'string',
    format: 'timestamp',
    ...(minimum === undefined ? {} : { notBefore: minimum }),
    ...(maximum === undefined ? {} : { notAfter: maximum }),
  }),
  compileNormalise: () => (value) => (typeof value === 'string' ? (parseTimestamp(value) ?? value) : value),
  readDefault: (written, now) => (written === NOW ? (now ?? undefined) : written),
  judgeOperand(operand) {
    const fault = judgeText(operand)
    if (fault !== undefined || parseTimestamp(String(operand)) !== undefined) return fault
    return ['wrong_type', 'must be an RFC 3339 date-time or date']
  },
  // A client may pass a `Date`, because JSON writes it as a string.
  print: (_, { purpose }) => (purpose === 'document' ? 'string' : 'string | Date'),
}

function settleTime(
  definition: DefinitionOf<'timestamp'>,
  attribute: 'minimum' | 'maximum' | 'default',
  { refuse }: DefinitionCheck,
): object {
  const written = definition[attribute]
  if (written === undefined || (attribute === 'default' && written === NOW)) return {}
  const stored = parseTimestamp(written)
  if (stored !== undefined) return { [attribute]: stored }
  const form = attribute === 'default' ? 'date-time, a date or "$now"' : 'date-time or date'
  refuse(attribute, `must be an RFC 3339 ${form}, found ${JSON.stringify(written)}`)
  return {}
}
