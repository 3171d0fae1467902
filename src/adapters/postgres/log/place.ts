import { isWhole } from '../../log/position.js'

/** The place of a change: the timeline on which it got its position, and the position. */
export type TimelinePosition = readonly [timeline: string, position: number]

export function isPlace(value: unknown): value is TimelinePosition {
  const [timeline, position, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return typeof timeline === 'string' && isWhole(position) && others.length === 0
}
