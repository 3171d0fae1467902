import { type FieldType, OPAQUE } from '../field-type.js'
import { lengths, pickKeywords } from '../schema-parts.js'

/** The most bytes of a secret, because bcrypt ignores further bytes (CONTRACT.md §4). */
export const MAX_SECRET_BYTES = 72

/**
 * A secret with more UTF-16 units has more than 72 bytes in NFC too, because NFC saves at most two thirds of
 * a text.
 */
const LONGEST_TYPED = 3 * MAX_SECRET_BYTES

/**
 * Converts a secret to the form that is validated and hashed. NFC makes a password equal to the same password
 * typed on another system (RFC 8265 §4.2). A secret that is too long in any form is not converted, because
 * NFC takes quadratic time.
 */
export const composeSecret = (secret: string): string =>
  secret.length > LONGEST_TYPED ? secret : secret.normalize('NFC')

/** A secret, such as a password. Only its hash is stored. */
export const hashType: FieldType<'hash'> = {
  ...OPAQUE,
  description:
    'A secret, such as a password. It is stored as a hash, never shown, and cannot be used in queries.',
  valueType: null,
  attributes: lengths(8, 72),
  bounds: ['minLength', 'maxLength'],
  settle(definition, { refuse }) {
    if ((definition.minLength ?? 0) > MAX_SECRET_BYTES) {
      refuse('minLength', `must be at most ${MAX_SECRET_BYTES}, the maximum number of bytes of a secret`)
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
