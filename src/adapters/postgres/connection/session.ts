import type { Value } from '../../sql/dialect.js'
import { classify, isLost, isReadOnly, isUnprepared, UnconfirmedCommit, UnsentStatement } from '../faults.js'
import type { PoolSource, PostgresClient } from './pool.js'
import { createPreparedStatements } from './prepared.js'
import { createRowQuery, type Row } from './row-query.js'

/** The result of a statement. */
export interface Rows {
  readonly rows: readonly { readonly [column: string]: unknown }[]
  readonly rowCount: number
}

/** Runs one statement on a connection. */
export type RunStatement = (text: string, values?: readonly (Value | null)[]) => Promise<Rows>

/** A connection that is in use. */
export interface Session {
  readonly client: PostgresClient
  readonly run: RunStatement
  /** Runs a statement. Gives the columns of its rows as text. */
  readonly readRows: (text: string, values: readonly Value[]) => Promise<readonly Row[]>
  /** Whether the connection cannot be used again. */
  isLost: boolean
  /** Is called when the connection breaks. */
  readonly lose: () => void
  /** Is called with what the server says beside its answers. */
  readonly hear: (notice: Notice) => void
}

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
export interface Sessions {
  open(client: PostgresClient): Session
  /** Whether another job may use the session. */
  isUsable(session: Session): boolean
  close(session: Session): void
}

/** Creates the sessions of a pool. */
export function createSessions(source: PoolSource): Sessions {
  const prepared = createPreparedStatements()
  if (!source.isOwn) prepared.stop()
  const { hosts } = source
  const isUsable = ({ isLost, client }: Session): boolean =>
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
        try {
          answer = await client.query(query)
        } catch (cause) {
          throw failed(cause)
        }
        if (isUnconfirmed) throw unconfirmed()
        return toRows(answer)
      }
      const readOwn = (text: string, values: readonly Value[]): Promise<readonly Row[]> =>
        new Promise((resolve, reject) => {
          if (session.isLost) throw new UnsentStatement()
          const query = createRowQuery(text, values, (thrown, rows) => {
            if (!rows) reject(failed(thrown))
            else if (isUnconfirmed) reject(unconfirmed())
            else resolve(rows)
          })
          query.name = prepared.nameOf(client, text) ?? ''
          void client.query(query)
        })
      const readAny = async (text: string, values: readonly Value[]): Promise<readonly Row[]> => {
        const { rows } = await send(text, values)
        return rows.map((row) => Object.values(row).map((value) => (value === null ? null : String(value))))
      }
      const session: Session = {
        client,
        isLost: false,
        lose,
        hear,
        run: send,
        // A host's client may be any that looks like one of `pg`; so may be one of its native bindings.
        readRows: source.isOwn && 'connection' in client ? readOwn : readAny,
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
