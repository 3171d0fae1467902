import { type Call, createCall } from '../call.js'

/** Does something behind the answer to a call, in the service's own right. */
export const behind = ({ service }: Call, work: (own: Call) => Promise<void>): void =>
  service.background.begin((by) => work(createCall(service, { ...by, caller: null, session: undefined })))
