import { type Call, createCall } from '../request/call.js'

/**
 * Runs work in the background after the response to a call, with the service's own rights; `line` queues it (see
 * `Background`).
 */
export const behind = ({ service }: Call, work: (own: Call) => Promise<void>, line?: string): void =>
  service.background.begin(
    (by) => work(createCall(service, { ...by, caller: null, session: undefined })),
    line,
  )

/** The background line of the deliveries to an identifier for one reason. */
export const lineOf = (reason: string, identifier: string): string => JSON.stringify([reason, identifier])
