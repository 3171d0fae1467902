const ASCII = "a-z0-9!#$%&'*+/=?^_`{|}~-"
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const DOMAIN = `@(?:${LABEL}\\.)+${LABEL}$`

/** Without the flag `u`, with which the Kelvin sign would be a `k`, and the long s an `s`. */
const ASCII_ADDRESS = new RegExp(`^[${ASCII}]+(?:\\.[${ASCII}]+)*${DOMAIN}`, 'i')

/**
 * Letters and marks that are invisible or easily confused: those that fonts may leave out; i and j without a dot, and
 * the dot; and those that RFC 8264 §9.6 and §9.9 disallow: fillers, repetition marks, old jamo.
 */
const REFUSED =
  '\\p{Default_Ignorable_Code_Point}\\u0130\\u0131\\u0237\\u0307\\u0640\\u07fa\\u302e\\u302f\\u3031-\\u3035\\u303b\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff'

/** A mark needs a letter outside ASCII before it: NFKC composes most letters of ASCII with theirs. */
const CHARACTER = `(?:[A-Z${ASCII}]|(?![\\0-\\x7f${REFUSED}])(?:\\p{Nd}|\\p{L}(?:(?![${REFUSED}])[\\p{Mn}\\p{Mc}])*))`
const DOT_ATOM = new RegExp(`^${CHARACTER}+(?:\\.${CHARACTER}+)*$`, 'u')

/** One mark drawn twice over the same place. */
const REPEATED_MARK = /(\p{Mn})\1/u

/** Scripts with many letters that look alike. */
const ALIKE = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Cherokee'].map(
  (script) => new RegExp(`\\p{Script=${script}}`, 'u'),
)

const FROM_THE_RIGHT = '\\u0590-\\u08ff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}'
const RIGHT_ATOM = `(?=\\p{L})[${FROM_THE_RIGHT}](?:[-_+]?[${FROM_THE_RIGHT}\\p{M}\\p{Nd}])*`

/** Text whose display order is unambiguous: the rule of RFC 5893 §2, as far as it concerns a local part. */
const ONE_DIRECTION = new RegExp(`^(?:[^${FROM_THE_RIGHT}]*|${RIGHT_ATOM}(?:\\.${RIGHT_ATOM})*)$`, 'u')

/** RFC 5321 §4.5.3.1.1 */
const MAX_LOCAL_BYTES = 64

/**
 * Whether a text is a mail address without quotes and comments: a domain in ASCII, and a local part that may hold
 * letters, marks and digits outside ASCII (RFC 6531), as far as RFC 8265 allows them in names of accounts. Takes linear
 * time.
 */
export function isEmail(text: string): boolean {
  if (ASCII_ADDRESS.test(text)) return true
  const at = text.lastIndexOf('@')
  return at > 0 && isLocalPart(text.slice(0, at)) && ASCII_ADDRESS.test(`x${text.slice(at)}`)
}

const encoder = new TextEncoder()

// The length is checked first: NFKC takes quadratic time in the number of marks.
const isLocalPart = (local: string): boolean =>
  local.length <= MAX_LOCAL_BYTES &&
  encoder.encode(local).length <= MAX_LOCAL_BYTES &&
  DOT_ATOM.test(local) &&
  local.normalize('NFKC') === local &&
  !REPEATED_MARK.test(local) &&
  ALIKE.filter((script) => script.test(local)).length < 2 &&
  ONE_DIRECTION.test(local)

/** Letters that addresses must not contain although their lower case is allowed: that of the Kelvin sign is `k`. */
const MERGED = /[\u03f4\u2126\u212a\u212b]/

/** The lower case of an address. Text with one of the `MERGED` letters stays as it is, and the validator rejects it. */
export const lowerEmail = (text: string): string => (MERGED.test(text) ? text : text.toLowerCase())
