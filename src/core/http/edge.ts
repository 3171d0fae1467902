import type { Respond } from './answer.js'

/**
 * The key under which a mount finds the plain side of a handler. It is in the global registry, so that several copies
 * of this package share it.
 */
export const RESPOND = Symbol.for('collection-service.respond')

/** A handler as a mount sees it. */
export interface PlainEdge {
  readonly [RESPOND]: Respond
}
