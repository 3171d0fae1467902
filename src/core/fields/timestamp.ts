// RFC 3339 §5.6: full-date, optionally with "T" (or "t") and a full-time.
const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d)))?$/

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
  const [
    ,
    year,
    month,
    day,
    hour = '0',
    minute = '0',
    second = '0',
    fraction = '',
    sign,
    offHour,
    offMinute,
  ] = parts
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  date.setUTCHours(Number(hour), Number(minute), Number(second), Number(fraction.slice(0, 3).padEnd(3, '0')))
  const offset = (Number(offHour ?? 0) * 60 + Number(offMinute ?? 0)) * (sign === '-' ? -60_000 : 60_000)
  return formatTimestamp(date.getTime() - offset)
}

const FIRST = Date.parse('0001-01-01T00:00:00.000Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')

/** Formats milliseconds since 1970 in stored form; returns `undefined` outside the years 0001 to 9999. */
export function formatTimestamp(milliseconds: number): string | undefined {
  return milliseconds >= FIRST && milliseconds <= LAST ? new Date(milliseconds).toISOString() : undefined
}
