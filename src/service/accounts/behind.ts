import { type Call, createCall } from '../call.js'

/** Does something behind the answer to a call, in the service's own right; with a line, in its turn (see `Background`). */
export const behind = ({ service }: Call, work: (own: Call) => Promise<void>, line?: string): void =>
  service.background.begin(
    (by) => work(createCall(service, { ...by, caller: null, session: undefined })),
    line,
  )

/** The line of the deliveries to an identifier for one reason. */
export const lineOf = (reason: string, identifier: string): string => JSON.stringify([reason, identifier])
