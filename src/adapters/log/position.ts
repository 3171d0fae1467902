/** A place in a log, as its readers see it. */
export interface Position<Place> {
  /** The log; its places mean nothing in another log. */
  readonly log: string
  readonly place: Place
  /** When the position was issued, or the time of the change there. */
  readonly time: number
  /**
   * When the change at the place was made, in a unit of the adapter; `null` if no change is stored there. A restored
   * storage may use the same places for other changes. Absent in memory, and in positions of earlier versions.
   */
  readonly made?: number | null | undefined
  /** The files for which it was issued, on SQLite. */
  readonly files?: string | undefined
}

/** Prints a position. */
export const printPosition = <Place>({ log, place, time, made, files }: Position<Place>): string =>
  JSON.stringify([log, place, time, made, files].filter((part) => part !== undefined))

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
  const [log, place, time, made, files] = Array.isArray(parts) ? (parts as readonly unknown[]) : []
  if (typeof log !== 'string' || !isPlace(place) || !isWhole(time)) return undefined
  return {
    log,
    place,
    time,
    made: made === null || isWhole(made) ? made : undefined,
    files: typeof files === 'string' ? files : undefined,
  }
}

/**
 * Whether a log still has the change of a position, or dropped it last. `made`: that of the change at the place now,
 * `null` if there is none. `isEnd`: whether the last dropped change was at this place.
 */
export const isKept = (
  position: Pick<Position<unknown>, 'made'>,
  made: number | null,
  isEnd: boolean,
): boolean => (made === null ? isEnd : position.made === undefined || position.made === made)

/** Whether a value is a non-negative integer. */
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
