/** What counts for whether a request stands by itself. */
interface LoggedRequest {
  /** `null` until there is an answer; 0 where there was none. */
  readonly status: number | null
  /** Why the page asked by itself; empty for what a person did. */
  readonly note: string
  readonly isQuestion: boolean
}

/** Whether nobody has to see it at once: asked by the page itself, and not failed. */
const isBeside = ({ status, note, isQuestion }: LoggedRequest): boolean =>
  note !== '' && (isQuestion || status === null || (status > 0 && status < 400))

/** Requests in their order, those together that the page made one after another by itself. */
export function fold<Entry extends LoggedRequest>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const groups: Entry[][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last?.every(isBeside) && isBeside(entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups
}
