import { fault } from './write-query.js'

/** An interval of time by the calendar of a time zone. */
export type EdgeUnit = 'hour' | 'day' | 'week' | 'month' | 'year'

const SECOND = 1000
const QUARTER = 900 * SECOND
const HOUR = 4 * QUARTER
const DAY = 24 * HOUR

/** Moves the midnight of a day to the first day of its unit, and to the first day of a later unit. */
const MOVES: { readonly [unit in Exclude<EdgeUnit, 'hour'>]: (day: Date, units: number) => void } = {
  day: (day, units) => day.setUTCDate(day.getUTCDate() + units),
  week: (day, units) => day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7) + 7 * units),
  month: (day, units) => day.setUTCMonth(day.getUTCMonth() + units, 1),
  year: (day, units) => day.setUTCFullYear(day.getUTCFullYear() + units, 0, 1),
}

/** Creates the function that returns what the clocks of a zone show at a time, as if they were in UTC. */
function createWall(timeZone: string): (time: number) => number {
  const numeric = '2-digit'
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  })
  return (time) => {
    const {
      year = '',
      month,
      day,
      hour,
      minute,
      second,
    } = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
    return Date.parse(`${year.padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}Z`)
  }
}

/** Returns the first instant that has the date of a midnight; `undefined` if the zone skips this date. */
function startOf(midnight: number, wall: (time: number) => number): number | undefined {
  const starts = [midnight - DAY, midnight + DAY]
    .map((time) => midnight - (wall(time) - Math.floor(time / SECOND) * SECOND))
    .sort((a, b) => a - b)
  const start = starts.find((time) => wall(time) === midnight)
  if (start !== undefined) return start
  // There is no midnight: the day begins when the clocks are put forward.
  let [before, after] = [starts[0] ?? 0, starts[1] ?? 0]
  while (after - before > SECOND) {
    const middle = before + Math.floor((after - before) / 2 / SECOND) * SECOND
    if (wall(middle) < midnight) before = middle
    else after = middle
  }
  return wall(after) < midnight + DAY ? after : undefined
}

/**
 * Returns the first instants of the hours, days, weeks, months or years of a time zone, from `from` on and before `to`:
 * edges for `by` of `aggregate`. A day begins at the first instant that has its date, a week on Monday. A day that the
 * zone skips has no edge. Throws a `TypeError` for an unknown unit or an invalid time, and the `RangeError` of the
 * runtime for an unknown zone. More than 100 edges need a higher `limits.values`.
 *
 * @example
 * ```ts
 * const days = edges('day', 'Europe/Oslo', '2026-03-28T23:00:00Z', '2026-04-04T22:00:00Z')
 * const perDay = await orders.aggregate({ q: { placedAt: { $gte: days[0] } }, by: { placedAt: days } })
 * ```
 */
export function edges(unit: EdgeUnit, timeZone: string, from: string | Date, to: string | Date): string[] {
  const [first, end] = [from, to].map((time) => new Date(time).getTime())
  if (first === undefined || end === undefined || Number.isNaN(first + end))
    throw fault('from, to', 'must be times')
  const wall = createWall(timeZone)
  const found: number[] = []
  if (unit === 'hour') {
    const hourOf = (time: number): number => Math.floor(wall(time) / HOUR)
    for (let time = Math.ceil(first / QUARTER) * QUARTER; time < end; time += QUARTER)
      if (hourOf(time) !== hourOf(time - SECOND)) found.push(time)
  } else {
    const move = MOVES[unit]
    if (!move) throw fault('unit', 'is unknown')
    const day = new Date(Math.floor(wall(first) / DAY) * DAY)
    move(day, 0)
    for (; day.getTime() < end + 2 * DAY; move(day, 1)) {
      const start = startOf(day.getTime(), wall)
      if (start !== undefined && start >= first && start < end) found.push(start)
    }
  }
  return found.map((time) => new Date(time).toISOString())
}
