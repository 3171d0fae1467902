/** A position in a log, as readers of the log receive it. */
export interface Position<Place> {
  /** The name of the log. `place` is valid only in this log. */
  readonly log: string
  readonly place: Place
  /** The time of the change that was returned with the position; without a change, the time of the read. */
  readonly time: number
  /**
   * The creation time of the change at this position, in the adapter's own unit; `null` if the log had no change there.
   * If the log now has another time at this position, the storage was restored from a backup. Absent in the memory
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
 * Whether a reader can resume at a position: the log still has the change at the position, or has dropped it but no
 * later change. `made`: the creation time of the change that the log now has at the position, or `null` if it has none
 * there. `isEnd`: whether the last dropped change was at the position.
 */
export const isKept = (
  position: Pick<Position<unknown>, 'made'>,
  made: number | null,
  isEnd: boolean,
): boolean => (made === null ? isEnd : position.made === undefined || position.made === made)

/** Whether a value is a non-negative integer. */
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
