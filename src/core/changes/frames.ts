/** The names of events (CONTRACT.md §9, "Events"). */
export type EventName = 'reset' | 'enter' | 'change' | 'leave' | 'end'

/** The comment that keeps an idle stream open. */
export const COMMENT = ':\n\n'

/** An event of `text/event-stream`. `data` is JSON without line breaks. */
export const writeFrame = (event: EventName, data: string, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`
