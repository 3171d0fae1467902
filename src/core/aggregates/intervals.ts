import type { Interval } from '../storage.js'

/** For each interval: the length of the beginning of a timestamp that names it, and the rest of its first instant. */
export const INTERVALS: { readonly [interval in Interval]: readonly [length: number, rest: string] } = {
  hour: [13, ':00:00.000Z'],
  day: [10, 'T00:00:00.000Z'],
  month: [7, '-01T00:00:00.000Z'],
  year: [4, '-01-01T00:00:00.000Z'],
}

/** Returns the first instant of the interval of a timestamp, both in stored form. */
export function startOf(interval: Interval, timestamp: string): string {
  const [length, rest] = INTERVALS[interval]
  return timestamp.slice(0, length) + rest
}

const DAY = 86_400_000

/**
 * Returns the Monday on or before a day, in stored form. A day that is in no calendar, which only a program that filled
 * the storage can have written, is its own week, and so is a day whose Monday is before the year 0.
 */
export function weekOf(day: string): string {
  const time = Date.parse(day)
  if (Number.isNaN(time) || new Date(time).toISOString() !== day) return day
  // 1970 began on a Thursday, three days after a Monday.
  const passed = ((((time / DAY + 3) % 7) + 7) % 7) * DAY
  const monday = new Date(time - passed).toISOString()
  return monday.length === day.length ? monday : day
}
