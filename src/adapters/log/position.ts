/** A position in a log, as readers of the log receive it. */
export interface Position<Place> {
  /** The name of the log. A `place` is valid only in the log that issued it. */
  readonly log: string
  readonly place: Place
  /** For the position of a change, the time of the change. For any other position, the time when it was issued. */
  readonly time: number
  /**
   * When the change at this place was made, in a unit of the adapter; `null` if no change is stored there. If the log
   * now has a change with another time at this place, the log was restored from a backup. Absent in the memory
   * adapter and in positions that earlier versions issued.
   */
  readonly made?: number | null | undefined
  /** The name of the database files for which the position was issued. Only on SQLite. */
  readonly files?: string | undefined
}

/** Prints a position as a string. */
export const printPosition = <Place>({ log, place, time, made, files }: Position<Place>): string =>
  JSON.stringify([log, place, time, made, files].filter((part) => part !== undefined))

/** Parses a printed position. Returns `undefined` for any other string. */
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
 * Whether a reader can resume at a position: the log still has the change of this position, or the change was the
 * last one that the log dropped. `made`: when the change that is now at this place was made, or `null` if there is
 * none. `isEnd`: whether the last dropped change was at this place.
 */
export const isKept = (
  position: Pick<Position<unknown>, 'made'>,
  made: number | null,
  isEnd: boolean,
): boolean => (made === null ? isEnd : position.made === undefined || position.made === made)

/** Whether a value is a non-negative integer. */
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
