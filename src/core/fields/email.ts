const ASCII = "a-z0-9!#$%&'*+/=?^_`{|}~-"
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const DOMAIN = `@(?:${LABEL}\\.)+${LABEL}$`

/**
 * Matches an ASCII address. Without the flag `u`, because that flag would let the Kelvin sign match `k`, and
 * the long s match `s`.
 */
const ASCII_ADDRESS = new RegExp(`^[${ASCII}]+(?:\\.[${ASCII}]+)*${DOMAIN}`, 'i')

/**
 * Letters and marks that are invisible or easily confused: characters that fonts may omit; i and j without a
 * dot, I with a dot, and the combining dot; and characters that RFC 8264 §9.6 and §9.9 disallow (fillers,
 * repetition marks, old jamo).
 */
const REFUSED =
  '\\p{Default_Ignorable_Code_Point}\\u0130\\u0131\\u0237\\u0307\\u0640\\u07fa\\u302e\\u302f\\u3031-\\u3035\\u303b\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff'

/**
 * Matches a character with its marks. Marks must follow a letter outside ASCII, because NFKC composes most
 * ASCII letters with their marks.
 */
const CHARACTER = `(?:[A-Z${ASCII}]|(?![\\0-\\x7f${REFUSED}])(?:\\p{Nd}|\\p{L}(?:(?![${REFUSED}])[\\p{Mn}\\p{Mc}])*))`
const DOT_ATOM = new RegExp(`^${CHARACTER}+(?:\\.${CHARACTER}+)*$`, 'u')

/** Matches two equal marks in a row, which are drawn over each other. */
const REPEATED_MARK = /(\p{Mn})\1/u

/** Scripts with many letters that look alike. */
const ALIKE = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Cherokee'].map(
  (script) => new RegExp(`\\p{Script=${script}}`, 'u'),
)

const FROM_THE_RIGHT = '\\u0590-\\u08ff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}'
const RIGHT_ATOM = `(?=\\p{L})[${FROM_THE_RIGHT}](?:[-_+]?[${FROM_THE_RIGHT}\\p{M}\\p{Nd}])*`

/**
 * Matches text whose display order is unambiguous: the rule of RFC 5893 §2, as far as it applies to a local
 * part.
 */
const ONE_DIRECTION = new RegExp(`^(?:[^${FROM_THE_RIGHT}]*|${RIGHT_ATOM}(?:\\.${RIGHT_ATOM})*)$`, 'u')

/** The maximum number of bytes of a local part (RFC 5321 §4.5.3.1.1). */
const MAX_LOCAL_BYTES = 64

/**
 * Whether a string is an email address without quotes and comments. The domain must be ASCII. The local part
 * may contain letters, marks and digits outside ASCII (RFC 6531) that RFC 8265 allows in names of accounts.
 * Takes linear time.
 */
export function isEmail(text: string): boolean {
  if (ASCII_ADDRESS.test(text)) return true
  const at = text.lastIndexOf('@')
  return at > 0 && isLocalPart(text.slice(0, at)) && ASCII_ADDRESS.test(`x${text.slice(at)}`)
}

const encoder = new TextEncoder()

// The length is checked first, because NFKC takes quadratic time in the number of marks.
const isLocalPart = (local: string): boolean =>
  local.length <= MAX_LOCAL_BYTES &&
  encoder.encode(local).length <= MAX_LOCAL_BYTES &&
  DOT_ATOM.test(local) &&
  local.normalize('NFKC') === local &&
  !REPEATED_MARK.test(local) &&
  ALIKE.filter((script) => script.test(local)).length < 2 &&
  ONE_DIRECTION.test(local)

/**
 * Letters that an address must not contain although their lower case is allowed. For example, the lower case
 * of the Kelvin sign is `k`.
 */
const MERGED = /[\u03f4\u2126\u212a\u212b]/

/**
 * Returns an address in lower case. An address with a `MERGED` letter stays as it is, so that the validator
 * rejects it.
 */
export const lowerEmail = (text: string): string => (MERGED.test(text) ? text : text.toLowerCase())
