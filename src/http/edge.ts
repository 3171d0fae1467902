import type { Respond } from './respond.js'

/** How a mount reaches the plain side of a handler. Registered, so that copies of this package understand each other. */
export const RESPOND = Symbol.for('collection-service.respond')

/** A handler as a mount sees it. */
export interface PlainEdge {
  readonly [RESPOND]: Respond
}
