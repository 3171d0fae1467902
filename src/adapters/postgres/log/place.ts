import { isWhole } from '../../log/position.js'

/** The place of a change in the log: its position, and the server's timeline on which the position was assigned. */
export type TimelinePosition = readonly [timeline: string, position: number]

export function isPlace(value: unknown): value is TimelinePosition {
  const [timeline, position, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return typeof timeline === 'string' && isWhole(position) && others.length === 0
}
