/** The properties of a request that decide whether it is folded. */
interface LoggedRequest {
  /** `null` until there is an answer; 0 if none arrived. */
  readonly status: number | null
  /** The reason of a background request; empty for the action of a person. */
  readonly note: string
  readonly isQuestion: boolean
}

/** Whether a request is folded: a background request that has not failed. */
const isBeside = ({ status, note, isQuestion }: LoggedRequest): boolean =>
  note !== '' && (isQuestion || status === null || (status > 0 && status < 400))

/** Groups requests in their order: consecutive background requests form one group. */
export function fold<Entry extends LoggedRequest>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const groups: Entry[][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last?.every(isBeside) && isBeside(entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups
}
