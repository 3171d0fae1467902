import { isWhole } from '../../log/position.js'

/** A change: the timeline of the server on which it got its position, and the position. */
export type Place = readonly [timeline: string, position: number]

export function isPlace(value: unknown): value is Place {
  const [timeline, position, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return typeof timeline === 'string' && isWhole(position) && others.length === 0
}
