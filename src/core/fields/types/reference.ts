import { lowerUuid } from '../../json/uuid.js'
import type { FieldType } from '../field-type.js'
import { FIELD_NAMES } from '../names.js'
import { examples, filled, mapOf, text, withDefault } from '../schema-parts.js'
import { judgeText } from './string.js'

/** Converts an `_id` or a reference to its stored form: a UUID in lower case. */
export const normaliseId = (value: unknown): unknown => (typeof value === 'string' ? lowerUuid(value) : value)

/** The `_id` of another document. Filters treat it as a string. */
export const referenceType: FieldType<'reference'> = {
  description: 'The _id of a document in this or another collection.',
  isScalar: true,
  holdsText: true,
  isOrdered: true,
  // Only references to existing documents are stored, and the length of an `_id` is limited.
  isUnbounded: false,
  valueType: 'string',
  attributes: {
    collection: text('The collection that contains the referenced document.', 'users'),
    onDelete: withDefault('restrict', {
      type: 'string',
      enum: ['restrict', 'cascade', 'unset'],
      description:
        'When the referenced document is deleted: "restrict" rejects the deletion, "cascade" deletes this document too, "unset" removes this reference.',
    }),
    match: mapOf(text('The field of the referenced document.', 'team'), {
      names: FIELD_NAMES,
      minProperties: 1,
      description:
        'Pairs of a field of this document and a field of the referenced document: both must exist and have the same value.',
      ...examples({ team: 'team' }),
    }),
    ...filled({ type: 'string', ...examples('01990000-0000-7000-8000-000000000000') }),
  },
  needed: ['collection'],
  settle(definition, { refuse }) {
    // `match` contains only a comment.
    if (definition.match && Object.keys(definition.match).length === 0)
      refuse('match', 'must name at least one field')
    return definition
  },
  // A schema cannot check whether the referenced document exists. A write looks it up in storage.
  bodySchema: () => ({ type: 'string' }),
  compileNormalise: () => normaliseId,
  judgeOperand: judgeText,
  print: () => 'string',
}
