import { isWhole } from '../../log/position.js'

/** The `place` in a `Position`: the number of a change, and the server's timeline on which it was assigned. */
export type TimelinePosition = readonly [timeline: string, position: number]

export function isPlace(value: unknown): value is TimelinePosition {
  const [timeline, position, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return typeof timeline === 'string' && isWhole(position) && others.length === 0
}
