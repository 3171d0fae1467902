import { describe, expect, test } from 'vitest'
import { formatTimestamp, parseTimestamp } from '../../../../src/core/fields/timestamp.js'

// CONTRACT.md §1, "Field types"

describe('parsing', () => {
  test.each([
    ['2026-11-20T08:00:00.000Z', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20t08:00:00z', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T08:00:00.1Z', '2026-11-20T08:00:00.100Z'],
    ['2026-11-20T08:00:00.12Z', '2026-11-20T08:00:00.120Z'],
    ['2026-11-20T08:00:00.1239999Z', '2026-11-20T08:00:00.123Z'],
    ['2026-11-20T08:00:00.9999999999999999999999Z', '2026-11-20T08:00:00.999Z'],
    ['2026-11-20T08:00:00+00:00', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T08:00:00-00:00', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T08:00:00+05:45', '2026-11-20T02:15:00.000Z'],
    ['2026-11-20T08:00:00-05:30', '2026-11-20T13:30:00.000Z'],
    ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00.000Z'],
    ['2026-12-31T23:59:59.999-00:01', '2027-01-01T00:00:59.999Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29', '2000-02-29T00:00:00.000Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['0001-01-01T00:00:00-00:01', '0001-01-01T00:01:00.000Z'],
    ['0050-06-15T12:00:00Z', '0050-06-15T12:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTimestamp(text)).toBe(expected)
  })

  test.each([
    ['no text at all', ''],
    ['a year', '2026'],
    ['a month', '2026-11'],
    ['a day that is not there', '2026-02-29'],
    ['a century without a leap day', '1900-02-29'],
    ['the 31st of a short month', '2026-04-31'],
    ['day 0', '2026-01-00'],
    ['month 0', '2026-00-10'],
    ['month 13', '2026-13-01'],
    ['the year 0', '0000-12-31'],
    ['a year of five digits', '12026-01-01'],
    ['a signed year', '+002026-01-01'],
    ['a date that an offset moves before the first year', '0001-01-01T00:00:00+00:01'],
    ['one that it moves behind the last', '9999-12-31T23:59:00-00:01'],
    ['hour 24', '2026-11-20T24:00:00Z'],
    ['minute 60', '2026-11-20T08:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['no zone', '2026-11-20T08:00:00'],
    ['no seconds', '2026-11-20T08:00Z'],
    ['an offset of hours', '2026-11-20T08:00:00+01'],
    ['an offset without a colon', '2026-11-20T08:00:00+0100'],
    ['an offset of a day', '2026-11-20T08:00:00+24:00'],
    ['an offset beyond the minutes', '2026-11-20T08:00:00+01:60'],
    ['a fraction of nothing', '2026-11-20T08:00:00.Z'],
    ['a comma', '2026-11-20T08:00:00,5Z'],
    ['a space in between', '2026-11-20 08:00:00Z'],
    ['a space before', ' 2026-11-20'],
    ['a line end', '2026-11-20\n'],
    ['a zone on a date', '2026-11-20Z'],
    ['one digit', '2026-1-2'],
    ['slashes', '2026/11/20'],
    ['a basic form', '20261120T080000Z'],
    ['a week', '2026-W47-5'],
    ['a name of a zone', '2026-11-20T08:00:00[Europe/Oslo]'],
    ['digits of another script', '٢٠٢٦-11-20'],
    ['milliseconds', '1795161600000'],
    ['a form of JavaScript', 'Fri Nov 20 2026'],
  ])('%s is refused', (_, text) => {
    expect(parseTimestamp(text)).toBeUndefined()
  })

  test('what is stored is parsed to itself', () => {
    for (let month = 0; month < 12; month++) {
      const stored = new Date(
        Date.UTC(2024, month, 28 + (month % 4), month, 59, month, month * 83),
      ).toISOString()
      expect(parseTimestamp(stored)).toBe(stored)
    }
  })
})

describe('formatting', () => {
  test.each([
    [0, '1970-01-01T00:00:00.000Z'],
    [-1, '1969-12-31T23:59:59.999Z'],
    [1.9, '1970-01-01T00:00:00.001Z'],
    [Date.parse('0001-01-01T00:00:00.000Z'), '0001-01-01T00:00:00.000Z'],
    [Date.parse('9999-12-31T23:59:59.999Z'), '9999-12-31T23:59:59.999Z'],
  ])('%d', (milliseconds, expected) => {
    expect(formatTimestamp(milliseconds)).toBe(expected)
  })
  test.each([
    Date.parse('0001-01-01T00:00:00.000Z') - 1,
    Date.parse('9999-12-31T23:59:59.999Z') + 1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ])('%d is outside', (milliseconds) => {
    expect(formatTimestamp(milliseconds)).toBeUndefined()
  })
})
