import { describe, expect, test } from 'vitest'
import { startOf, weekOf } from '../../../../src/core/aggregates/intervals.js'

describe('intervals', () => {
  test.each([
    ['hour', '2026-03-29T23:59:59.999Z', '2026-03-29T23:00:00.000Z'],
    ['day', '0001-01-01T23:59:59.999Z', '0001-01-01T00:00:00.000Z'],
    ['month', '0099-12-31T23:59:59.999Z', '0099-12-01T00:00:00.000Z'],
    ['year', '9999-12-31T23:59:59.999Z', '9999-01-01T00:00:00.000Z'],
  ] as const)('%s of %s', (interval, timestamp, start) => {
    expect(startOf(interval, timestamp)).toBe(start)
  })

  test.each([
    ['2026-11-29T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
    ['2026-11-23T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
    ['1970-01-01T00:00:00.000Z', '1969-12-29T00:00:00.000Z'],
    ['0001-01-07T00:00:00.000Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T00:00:00.000Z', '0099-12-28T00:00:00.000Z'],
    ['9999-12-31T00:00:00.000Z', '9999-12-27T00:00:00.000Z'],
  ])('the week of %s begins on %s', (day, monday) => {
    expect(weekOf(day)).toBe(monday)
    expect(new Date(monday).getUTCDay()).toBe(1)
  })

  test.each(['2026-02-30T00:00:00.000Z', '2026-13-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z'])(
    '%s, which is in no calendar or before the first Monday, is its own week',
    (day) => {
      expect(weekOf(day)).toBe(day)
    },
  )
})
