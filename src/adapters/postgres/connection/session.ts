import type { Value } from '../../sql/dialect.js'
import { classify, isLost, isReadOnly, isUnprepared, UnconfirmedCommit, UnsentStatement } from '../faults.js'
import { type Address, addressOf } from './cancel.js'
import type { PoolSource, PostgresClient } from './pool.js'
import { createPreparedStatements } from './prepared.js'
import { type NamedStatement, RowQuery, type RowsRead, type TextRow } from './row-query.js'

/** The result of a statement. */
export interface Rows {
  readonly rows: readonly { readonly [column: string]: unknown }[]
  readonly rowCount: number
}

/** Runs one statement on a connection. */
export type RunStatement = (text: string, values?: readonly (Value | null)[]) => Promise<Rows>

/** A connection that is in use. */
export interface DatabaseSession {
  readonly client: PostgresClient
  readonly address: Address
  readonly run: RunStatement
  /** Runs a statement. Gives the columns of its rows as text. */
  readonly readRows: (text: string, values: readonly Value[]) => Promise<readonly TextRow[]>
  /**
   * Runs a statement that is a write of its own. It waits for a lock no longer than some milliseconds, which do not count
   * while it commits; over a host's pool as long as that allows.
   */
  readonly write: (text: string, values: readonly Value[], patience?: number) => Promise<RowsRead>
  /** Whether the connection cannot be used again. */
  isLost: boolean
  /** How many statements were sent, and how many of them had an answer: of what waits for one, that is all that is heard. */
  sent: number
  answered: number
  /** Is called when the connection breaks. */
  readonly lose: () => void
  /** Is called with what the server says beside its answers. */
  readonly hear: (notice: Notice) => void
}

/**
 * The milliseconds for which a write waits for a lock: less than most requests have, so that who asked is told that
 * nothing was written.
 */
export const LOCK_MILLISECONDS = 5000

/** The level at which a server speaks of a commit whose wait for the standby was cancelled. */
export const HEARD = 'warning'

/**
 * The statement that bounds the waits for locks of those that are sent with it, and makes their warnings heard. A table is
 * locked before one is run.
 */
const bound = (patience: number): string =>
  `SELECT set_config('lock_timeout', '${patience}ms', true), set_config('client_min_messages', '${HEARD}', true)`

/** What the server says beside an answer, and which part of it does. */
interface Notice {
  readonly routine?: string | undefined
}

/** The events of a client of `pg` that only sessions need. A host's may lack them. */
interface Noticing {
  on(event: 'notice', listener: (notice: Notice) => void): unknown
  removeListener(event: 'notice', listener: (notice: Notice) => void): unknown
}

/** The part of PostgreSQL that waits for a standby; it speaks where somebody has cancelled that. */
const STANDBY_WAIT = 'SyncRepWaitForLSN'

/** Opens and closes sessions on the clients of one pool. */
export interface DatabaseSessions {
  open(client: PostgresClient): DatabaseSession
  /** Whether another job may use the session. */
  isUsable(session: DatabaseSession): boolean
  close(session: DatabaseSession): void
}

/** Creates the sessions of a pool. */
export function createSessions(source: PoolSource): DatabaseSessions {
  const prepared = createPreparedStatements()
  if (!source.isOwn) prepared.stop()
  const { hosts } = source
  const isUsable = ({ isLost, client }: DatabaseSession): boolean =>
    !isLost && !prepared.isFull(client) && hosts?.isCurrent(client) !== false
  return {
    open(client) {
      const lose = (): void => {
        session.isLost = true
        hosts?.distrust(client)
      }
      let isUnconfirmed = false
      const hear = ({ routine }: Notice): void => {
        isUnconfirmed ||= routine === STANDBY_WAIT
      }
      client.on('error', lose)
      ;(client as unknown as Noticing).on('notice', hear)
      const unconfirmed = (): UnconfirmedCommit => {
        isUnconfirmed = false
        return new UnconfirmedCommit()
      }
      const failed = (cause: unknown): unknown => {
        const thrown = classify(cause)
        if (isLost(thrown)) lose()
        if (isReadOnly(thrown)) {
          session.isLost = true
          hosts?.discard(client)
        }
        // A pooler in between does not keep prepared statements.
        if (isUnprepared(thrown)) prepared.stop()
        return thrown
      }
      const send: RunStatement = async (text, values = []) => {
        if (session.isLost) throw new UnsentStatement()
        // A text of several statements has no values and cannot be prepared.
        const name = values.length > 0 ? prepared.nameOf(client, text) : undefined
        const query = {
          text,
          ...(values.length > 0 ? { values: [...values] } : {}),
          ...(name ? { name } : {}),
        }
        let answer: unknown
        session.sent += 1
        try {
          answer = await client.query(query)
        } catch (cause) {
          throw failed(cause)
        } finally {
          session.answered = session.sent
        }
        if (isUnconfirmed) throw unconfirmed()
        return toRows(answer)
      }
      const partOf = (text: string, values: readonly Value[] = []): NamedStatement => ({
        text,
        values,
        name: prepared.nameOf(client, text) ?? '',
      })
      const sendOwn = (...parts: readonly NamedStatement[]): Promise<RowsRead> =>
        new Promise((resolve, reject) => {
          if (session.isLost) throw new UnsentStatement()
          session.sent += 1
          const query = new RowQuery(parts, (thrown, read) => {
            session.answered = session.sent
            if (!read) reject(failed(thrown))
            else if (isUnconfirmed) reject(unconfirmed())
            else resolve(read)
          })
          void client.query(query)
        })
      const sendAny = async (text: string, values: readonly Value[]): Promise<RowsRead> => {
        const { rows, rowCount } = await send(text, values)
        const toText = (value: unknown): string | null => (value === null ? null : String(value))
        return { rows: rows.map((row) => Object.values(row).map(toText)), rowCount }
      }
      // A host's client may be any that looks like one of `pg`; so may be one of its native bindings.
      const isOwn = source.isOwn && 'connection' in client
      const read: typeof sendAny = isOwn ? (text, values) => sendOwn(partOf(text, values)) : sendAny
      const session: DatabaseSession = {
        client,
        address: addressOf(client),
        isLost: false,
        sent: 0,
        answered: 0,
        lose,
        hear,
        run: send,
        readRows: async (text, values) => (await read(text, values)).rows,
        write: isOwn
          ? (text, values, patience = LOCK_MILLISECONDS) =>
              sendOwn(partOf(bound(patience)), partOf(text, values))
          : sendAny,
      }
      return session
    },
    isUsable,
    close(session) {
      session.client.removeListener('error', session.lose)
      ;(session.client as unknown as Noticing).removeListener('notice', session.hear)
      session.client.release(!isUsable(session))
    },
  }
}

/** A lost connection makes its statement fail; without a listener it would also end the process. */
export const ignore = (): void => {}

/** What a client answers to a statement; no rows where it has not answered. */
export function toRows(result: unknown): Rows {
  const { rows, rowCount } = (result ?? {}) as {
    readonly rows?: Rows['rows']
    readonly rowCount?: number | null
  }
  return { rows: rows ?? [], rowCount: rowCount ?? 0 }
}
