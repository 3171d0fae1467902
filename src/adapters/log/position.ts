/** A place in a log, as it is told outside. */
export interface Position<Place> {
  /** Which log it is: places of another one mean nothing here. */
  readonly log: string
  readonly place: Place
  /** When it was told, or the time of the change there. */
  readonly time: number
}

/** Prints a position. */
export const printPosition = <Place>({ log, place, time }: Position<Place>): string =>
  JSON.stringify([log, place, time])

/** Parses a position; `undefined` for any other text. */
export function parsePosition<Place>(
  text: string,
  isPlace: (value: unknown) => value is Place,
): Position<Place> | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(text)
  } catch {
    return undefined
  }
  const [log, place, time] = Array.isArray(parts) ? (parts as readonly unknown[]) : []
  if (typeof log !== 'string' || !isPlace(place) || !isWhole(time)) return undefined
  return { log, place, time }
}

/** Whether a value is a whole number, not below zero. */
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
