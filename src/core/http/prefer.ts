const TOKEN = "[!#$%&'*+.^_`|~\\w-]+"
const VALUE = `(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`

/**
 * A preference, up to the comma after it, or the end (RFC 7240 §2). White space matches in one way at each point, so
 * that a header that does not match costs only linear time.
 */
const PREFERENCE = new RegExp(
  `[\\t ,]*(?:$|(${TOKEN})(?:[\\t ]*=(?:[\\t ]*(${VALUE}))?)?(?:[\\t ]*;(?:[\\t ]*${TOKEN}(?:[\\t ]*=(?:[\\t ]*${VALUE})?)?)?)*[\\t ]*(?:,|$))`,
  'y',
)

/** The header of the response to a write from which nothing was dropped (RFC 7240 §3). */
export const APPLIED = { 'preference-applied': 'handling=strict' } as const

/**
 * Whether a `Prefer` header forbids dropping parts of a body: `handling=strict` (RFC 7240 §4.4). The first
 * `handling` counts. A malformed header has no effect.
 */
export function prefersStrict(header: string): boolean {
  let handling: string | undefined
  for (let at = 0; at < header.length; at = PREFERENCE.lastIndex) {
    PREFERENCE.lastIndex = at
    const found = PREFERENCE.exec(header)
    if (!found) return false
    const [, name = '', value = ''] = found
    if (name.toLowerCase() === 'handling') handling ??= value
  }
  return handling !== undefined && /^"?strict"?$/i.test(handling.replace(/\\(.)/g, '$1'))
}
