import { type Call, createCall } from '../request/call.js'

/**
 * Runs work in the background after the response to a call, with the service's own rights. Tasks with the same `line`
 * run one after another (see `Background`).
 */
export const behind = ({ service }: Call, work: (own: Call) => Promise<void>, line?: string): void =>
  service.background.begin(
    (by) => work(createCall(service, { ...by, caller: null, session: undefined })),
    line,
  )

/** Returns the `line` of a background task. Tasks with the same reason and the same identifier share a line. */
export const lineOf = (reason: string, identifier: string): string => JSON.stringify([reason, identifier])
