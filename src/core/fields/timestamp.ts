// RFC 3339 §5.6: full-date, optionally with "T" (or "t") and a full-time.
const RFC3339 =
  /^(\d{4}-\d\d-\d\d)(?:[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/

/** Matches a time in stored form, except on the 29th to 31st, because those days depend on the month. */
const STORED =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/**
 * Returns the stored form of an RFC 3339 date-time or date, as in `2026-11-20T08:00:00.000Z`: in UTC, cut to
 * milliseconds, with midnight for a date. Returns `undefined` for anything else, and for a day that does not
 * exist, a leap second, or a year outside 0001 to 9999 (CONTRACT.md §1).
 */
export function parseTimestamp(text: string): string | undefined {
  if (STORED.test(text)) return text
  const parts = RFC3339.exec(text)
  if (!parts) return undefined
  const [, day = '', time = '00:00:00', fraction = '', zone = 'Z'] = parts
  // Engines read February 30 as March 2.
  if (!new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day)) return undefined
  return formatTimestamp(
    Date.parse(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone.toUpperCase()}`),
  )
}

const FIRST = Date.parse('0001-01-01T00:00:00.000Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')

/** Formats milliseconds since 1970 in stored form; returns `undefined` outside the years 0001 to 9999. */
export function formatTimestamp(milliseconds: number): string | undefined {
  return milliseconds >= FIRST && milliseconds <= LAST ? new Date(milliseconds).toISOString() : undefined
}
