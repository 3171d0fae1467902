/** A place in a log, as it is told outside. */
export interface Position<Place> {
  /** Which log it is: places of another one mean nothing here. */
  readonly log: string
  readonly place: Place
  /** When it was told, or the time of the change there. */
  readonly time: number
  /**
   * When the change at the place was made, in a unit of the adapter; `null` where none is kept there. A storage that was
   * restored gives the same places to other changes. Absent in memory, and in positions of earlier versions.
   */
  readonly made?: number | null | undefined
  /** The files in which it was told, on SQLite. */
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
 * Whether a log has the change of a position still, or knows that it is gone. `made`: that of the change at the place now,
 * `null` for none. `isEnd`: whether the last change that is gone lay there.
 */
export const isKept = (
  position: Pick<Position<unknown>, 'made'>,
  made: number | null,
  isEnd: boolean,
): boolean => (made === null ? isEnd : position.made === undefined || position.made === made)

/** Whether a value is a whole number, not below zero. */
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
