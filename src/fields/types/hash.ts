import { type FieldType, OPAQUE } from '../field-type.js'
import { lengths, pickKeywords } from '../schema-parts.js'

/** The most bytes of a secret: bcrypt ignores the rest (CONTRACT.md §4). */
export const MAX_SECRET_BYTES = 72

/** A secret; only its hash is stored. */
export const hashType: FieldType<'hash'> = {
  ...OPAQUE,
  description: 'A secret, such as a password: stored as a hash, never shown and never compared.',
  valueType: null,
  attributes: lengths(8, 72),
  bounds: ['minLength', 'maxLength'],
  settle(definition, { refuse }) {
    if ((definition.minLength ?? 0) > MAX_SECRET_BYTES) {
      refuse('minLength', `is more than the ${MAX_SECRET_BYTES} bytes that a secret can have`)
    }
    return definition
  },
  bodySchema: ({ definition }) => ({
    type: 'string',
    ...pickKeywords(definition, ['minLength', 'maxLength']),
    maxBytes: MAX_SECRET_BYTES,
  }),
  print: () => 'string',
}
