import { createHash } from 'node:crypto'
import { createBoundedMap } from '../../../kept/bounded-map.js'
import { CACHES } from '../../../kept/caches.js'

/** The prepared statements of clients. */
export interface PreparedStatements {
  /** The name under which a client prepares a statement; `undefined` for a rare statement. */
  nameOf(client: object, text: string): string | undefined
  /** Whether a client has reached its limit. The client is then replaced, which drops its prepared statements. */
  isFull(client: object): boolean
  /** Stops preparing statements. */
  stop(): void
}

/** The most statements remembered. */
const MAX_REMEMBERED = 256

/** The longest statement that is remembered, in characters. */
const MAX_LENGTH = 8192

/** The most statements that one client keeps prepared. */
export const MAX_PREPARED = 512

/**
 * Names statements. A statement is prepared on its second use while it is remembered, so rare ones cost nothing.
 * Prepared statements are never dropped one by one, because `pg` and poolers keep records that only the end of a
 * connection clears.
 */
export function createPreparedStatements(): PreparedStatements {
  let isPreparing = true
  const names = createBoundedMap<string, string>(CACHES.prepared, MAX_REMEMBERED)
  const kept = new WeakMap<object, Set<string>>()
  return {
    nameOf(client, text) {
      if (!isPreparing || text.length > MAX_LENGTH) return undefined
      const name = names.get(text)
      if (name === undefined) {
        names.set(text, createName(text))
        return undefined
      }
      const own = kept.get(client)
      if (own) own.add(name)
      else kept.set(client, new Set([name]))
      return name
    },
    isFull: (client) => (kept.get(client)?.size ?? 0) >= MAX_PREPARED,
    stop() {
      isPreparing = false
    },
  }
}

/** A digest of the statement: processes that share a pooler share prepared statements. */
const createName = (text: string): string =>
  `cs_${createHash('sha256').update(text).digest('hex').slice(0, 48)}`
