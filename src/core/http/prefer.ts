const TOKEN = "[!#$%&'*+.^_`|~\\w-]+"
const VALUE = `(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`

/**
 * Matches one preference, including the comma after it or the end of the header (RFC 7240 §2). At each point, white
 * space can match in one way only, so that a header that does not match takes only linear time.
 */
const PREFERENCE = new RegExp(
  `[\\t ,]*(?:$|(${TOKEN})(?:[\\t ]*=(?:[\\t ]*(${VALUE}))?)?(?:[\\t ]*;(?:[\\t ]*${TOKEN}(?:[\\t ]*=(?:[\\t ]*${VALUE})?)?)?)*[\\t ]*(?:,|$))`,
  'y',
)

/** The header of the response to a strict write, from whose body nothing was dropped (RFC 7240 §3). */
export const APPLIED = { 'preference-applied': 'handling=strict' } as const

/**
 * Returns the value of a preference, whose name is in lower case; `undefined` without it. The first preference of a name
 * counts. A malformed header has no effect.
 */
export function readPreference(header: string, wanted: string): string | undefined {
  let first: string | undefined
  for (let at = 0; at < header.length; at = PREFERENCE.lastIndex) {
    PREFERENCE.lastIndex = at
    const found = PREFERENCE.exec(header)
    if (!found) return undefined
    const [, name = '', value = ''] = found
    if (name.toLowerCase() === wanted) first ??= value
  }
  return first?.replace(/\\(.)/g, '$1').replace(/^"|"$/g, '')
}

/** Whether a `Prefer` header contains `handling=strict`, which forbids dropping parts of a body (RFC 7240 §4.4). */
export const prefersStrict = (header: string): boolean =>
  readPreference(header, 'handling')?.toLowerCase() === 'strict'
