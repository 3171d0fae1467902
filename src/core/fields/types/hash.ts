import { type FieldType, OPAQUE } from '../field-type.js'
import { lengths, pickKeywords } from '../schema-parts.js'

/** The most bytes of a secret: bcrypt ignores the rest (CONTRACT.md §4). */
export const MAX_SECRET_BYTES = 72

/** Longer text, in UTF-16 units, has more than 72 bytes in NFC too: composition saves at most two thirds. */
const LONGEST_TYPED = 3 * MAX_SECRET_BYTES

/**
 * A secret in the form that is validated and hashed: NFC, so that a password typed on another system is the same (RFC
 * 8265 §4.2). Text that is too long in any form stays as it is, because NFC takes quadratic time.
 */
export const composeSecret = (secret: string): string =>
  secret.length > LONGEST_TYPED ? secret : secret.normalize('NFC')

/** A secret; only its hash is stored. */
export const hashType: FieldType<'hash'> = {
  ...OPAQUE,
  description: 'A secret, such as a password: stored as a hash, never shown and never compared.',
  valueType: null,
  attributes: lengths(8, 72),
  bounds: ['minLength', 'maxLength'],
  settle(definition, { refuse }) {
    if ((definition.minLength ?? 0) > MAX_SECRET_BYTES) {
      refuse('minLength', `is more than ${MAX_SECRET_BYTES} bytes, the maximum of a secret`)
    }
    return definition
  },
  compileNormalise: () => (value) => (typeof value === 'string' ? composeSecret(value) : value),
  bodySchema: ({ definition }) => ({
    type: 'string',
    ...pickKeywords(definition, ['minLength', 'maxLength']),
    maxBytes: MAX_SECRET_BYTES,
  }),
  print: () => 'string',
}
