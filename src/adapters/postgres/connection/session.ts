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

/** A connection in use. */
export interface DatabaseSession {
  readonly client: PostgresClient
  readonly address: Address
  readonly run: RunStatement
  /** Runs a statement. Returns the columns of its rows as text. */
  readonly readRows: (text: string, values: readonly Value[]) => Promise<readonly TextRow[]>
  /**
   * Runs a statement that is a complete write. It waits for locks at most `patience` milliseconds, without the time
   * of its commit; on a host's pool, `lock_timeout` of that pool applies instead.
   */
  readonly write: (text: string, values: readonly Value[], patience?: number) => Promise<RowsRead>
  /** Whether the connection cannot be used again. */
  isLost: boolean
  /** The numbers of statements sent and answered: the only sign of progress of a waiting statement. */
  sent: number
  answered: number
  /** Called when the connection breaks. */
  readonly lose: () => void
  /** Called with each notice of the server. */
  readonly hear: (notice: Notice) => void
}

/**
 * Milliseconds for which a write waits for a lock: less than most request timeouts, so that the caller learns that
 * nothing was written.
 */
export const LOCK_MILLISECONDS = 5000

/** The notice level of a commit whose wait for the standby was cancelled. */
export const HEARD = 'warning'

/**
 * The statement that bounds the lock waits of the statements sent with it, and enables their warnings. It is
 * separate, because the server locks the tables of a statement before it runs the statement.
 */
const bound = (patience: number): string =>
  `SELECT set_config('lock_timeout', '${patience}ms', true), set_config('client_min_messages', '${HEARD}', true)`

/** A notice of the server, and the server routine that sent it. */
interface Notice {
  readonly routine?: string | undefined
}

/** The notice events of a client of `pg`. A client of the host's pool may lack them. */
interface Noticing {
  on(event: 'notice', listener: (notice: Notice) => void): unknown
  removeListener(event: 'notice', listener: (notice: Notice) => void): unknown
}

/** The server routine that waits for a standby. It sends a notice when that wait was cancelled. */
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
      // A client of the host's pool may only resemble one of `pg`, and may use native bindings.
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

/** A lost connection rejects its statement; without a listener its error would also end the process. */
export const ignore = (): void => {}

/** Reads the result of a client's `query`; no rows if it is missing. */
export function toRows(result: unknown): Rows {
  const { rows, rowCount } = (result ?? {}) as {
    readonly rows?: Rows['rows']
    readonly rowCount?: number | null
  }
  return { rows: rows ?? [], rowCount: rowCount ?? 0 }
}
