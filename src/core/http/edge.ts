import type { Respond } from './answer.js'

/**
 * The key under which an adapter for a framework (a mount) finds the `Respond` function of a handler. It is in the
 * global symbol registry, so that several copies of this package share it.
 */
export const RESPOND = Symbol.for('collection-service.respond')

/** The part of a handler that a mount uses. */
export interface PlainEdge {
  readonly [RESPOND]: Respond
}
