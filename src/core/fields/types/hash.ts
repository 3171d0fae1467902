import { type FieldType, OPAQUE } from '../field-type.js'
import { lengths, pickKeywords } from '../schema-parts.js'

/** The maximum bytes of a secret, because bcrypt ignores further bytes (CONTRACT.md §4). */
export const MAX_SECRET_BYTES = 72

/**
 * The maximum number of UTF-16 units of a secret that may fit in 72 bytes. NFC removes at most two thirds of
 * a text, so a longer secret has too many bytes in NFC too.
 */
const LONGEST_TYPED = 3 * MAX_SECRET_BYTES

/**
 * Converts a secret to the form that is validated and hashed. In NFC, the same password is equal on all
 * systems (RFC 8265 §4.2). NFC takes quadratic time, so a secret that is too long in any form is not
 * converted.
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
