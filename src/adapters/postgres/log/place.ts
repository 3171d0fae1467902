import { isWhole } from '../../log/position.js'

/** A change: the timeline of the server on which it got its position, and the position. */
export type TimelinePosition = readonly [timeline: string, position: number]

export function isPlace(value: unknown): value is TimelinePosition {
  const [timeline, position, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return typeof timeline === 'string' && isWhole(position) && others.length === 0
}
