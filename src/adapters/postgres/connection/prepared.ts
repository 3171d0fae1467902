import { createHash } from 'node:crypto'
import { createBoundedMap } from '../../../filter/bounded-map.js'

/** Which statements clients keep prepared. */
export interface PreparedStatements {
  /** The name under which a client prepares a statement; none for one that is seldom asked. */
  nameOf(client: object, text: string): string | undefined
  /** Whether a client keeps as many as it may: it is to be replaced, and all that it keeps goes with it. */
  isFull(client: object): boolean
  /** From now on nothing is prepared. */
  stop(): void
}

/** Statements that are remembered. */
const MAX_REMEMBERED = 256

/** Characters of a statement that is worth remembering. */
const MAX_LENGTH = 8192

/** Statements that one client keeps prepared. */
export const MAX_PREPARED = 512

/**
 * A statement is prepared when it is asked for again while it is remembered: shapes that come once cost nothing. None is
 * dropped alone: `pg` and poolers keep books of their own, which only the end of a connection puts right.
 */
export function createPreparedStatements(): PreparedStatements {
  let isPreparing = true
  const names = createBoundedMap<string, string>(MAX_REMEMBERED)
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

/** It says which statement it is: behind a pooler, processes share what is prepared. */
const createName = (text: string): string =>
  `cs_${createHash('sha256').update(text).digest('hex').slice(0, 48)}`
