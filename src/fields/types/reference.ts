import type { FieldType } from '../field-type.js'
import { examples, filled, text, withDefault } from '../schema-parts.js'
import { judgeText } from './string.js'

/** The `_id` of a document; filters treat it as text. */
export const referenceType: FieldType<'reference'> = {
  description: 'The _id of a document of another collection, or of the same one.',
  isScalar: true,
  holdsText: true,
  isOrdered: true,
  // A reference to a missing document is not stored, so its length is limited.
  isUnbounded: false,
  valueType: 'string',
  attributes: {
    collection: text('The collection of the document whose _id this is.', 'users'),
    onDelete: withDefault('restrict', {
      type: 'string',
      enum: ['restrict', 'cascade'],
      description:
        'When that document is deleted: "restrict" keeps it from being deleted, "cascade" deletes this one with it.',
    }),
    ...filled({ type: 'string', ...examples('01990000-0000-7000-8000-000000000000') }),
  },
  needed: ['collection'],
  // Whether the document exists is checked in the storage.
  bodySchema: () => ({ type: 'string' }),
  judgeOperand: judgeText,
  print: () => 'string',
}
