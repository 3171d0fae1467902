/** The properties of a logged request on which folding depends. */
interface LoggedRequest {
  /** The status of the answer; `null` until it arrives, 0 if none arrived. */
  readonly status: number | null
  /** The reason for a background request; empty for a request that a person caused. */
  readonly note: string
  readonly isQuestion: boolean
}

/** Whether a request can be folded: a background request that has not failed. */
const isBeside = ({ status, note, isQuestion }: LoggedRequest): boolean =>
  note !== '' && (isQuestion || status === null || (status > 0 && status < 400))

/** Groups requests, in their order. Consecutive background requests become one group. */
export function fold<Entry extends LoggedRequest>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const groups: Entry[][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last?.every(isBeside) && isBeside(entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups
}
