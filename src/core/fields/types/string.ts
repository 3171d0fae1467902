import type { Scalar } from '../../filter/filter.js'
import { parsePattern } from '../../filter/pattern/parse-pattern.js'
import { PatternFault } from '../../filter/pattern/syntax/read-syntax.js'
import { isStorableText } from '../../json/domain.js'
import { lowerEmail } from '../email.js'
import type { DefinitionCheck, DefinitionOf, FieldType, OperandFault } from '../field-type.js'
import { choice, examples, filled, flag, lengths, pickKeywords, text } from '../schema-parts.js'

/** The formats of strings (CONTRACT.md §1). */
export const STRING_FORMATS = ['email', 'uri', 'uuid', 'date', 'time', 'ipv4', 'ipv6', 'hostname'] as const

/** Checks the operand of a type whose values are strings. */
export function judgeText(operand: Scalar): OperandFault | undefined {
  if (typeof operand !== 'string') return 'type'
  return isStorableText(operand) ? undefined : ['invalid_text', UNSTORABLE]
}

const UNSTORABLE = 'must not contain NUL or a lone surrogate'

/** A string of any length. */
export const stringType: FieldType<'string'> = {
  description: 'Text of any length.',
  isScalar: true,
  holdsText: true,
  isOrdered: true,
  isUnbounded: true,
  valueType: 'string',
  attributes: {
    ...lengths(1, 200),
    pattern: text(
      'A regular expression that must match somewhere in the text; ^ and $ match the ends of the text. Lookaround and backreferences are not supported.',
      '^[a-z0-9-]+$',
    ),
    format: {
      type: 'string',
      enum: STRING_FORMATS,
      description: 'The format of the text.',
      ...examples('email'),
    },
    ...choice('string', ['draft', 'published']),
    trim: flag('Whitespace around the text is removed before the text is checked and stored.'),
    lowercase: flag('The text is converted to lower case before it is checked and stored.'),
    ...filled({ type: 'string', ...examples('draft') }),
  },
  bounds: ['minLength', 'maxLength'],
  settle(definition, check) {
    checkPattern(definition, check)
    const normalise = compileNormalise(definition)
    for (const [i, value] of Object.entries(definition.enum ?? [])) {
      if (normalise(value) !== value)
        check.refuse('enum', 'can never be stored, because trim or lowercase changes it', `/${i}`)
      else if (!isStorableText(value)) check.refuse('enum', `can never be stored: it ${UNSTORABLE}`, `/${i}`)
    }
    return definition
  },
  bodySchema: ({ definition }) =>
    pickKeywords(definition, ['type', 'minLength', 'maxLength', 'format', 'enum']),
  patternOf: ({ pattern }) => pattern,
  compileNormalise,
  judgeOperand: judgeText,
  print: (definition, { printChoice }) => (definition.enum ? printChoice(definition.enum) : 'string'),
}

function checkPattern({ pattern }: DefinitionOf<'string'>, { refuse }: DefinitionCheck): void {
  try {
    if (pattern !== undefined) parsePattern(pattern, { ignoreCase: false })
  } catch (thrown) {
    if (!(thrown instanceof PatternFault)) throw thrown
    refuse('pattern', `the pattern ${thrown.message}`)
  }
}

function compileNormalise({ trim, lowercase, format }: DefinitionOf<'string'>): (value: unknown) => unknown {
  if (!trim && !lowercase) return (value) => value
  const lower = format === 'email' ? lowerEmail : (text: string) => text.toLowerCase()
  return (value) => {
    if (typeof value !== 'string') return value
    const trimmed = trim ? value.trim() : value
    return lowercase ? lower(trimmed) : trimmed
  }
}
