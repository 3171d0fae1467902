import { createHash } from 'node:crypto'
import type { Scalar } from '../../../core/filter/filter.js'
import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { Value } from '../../sql/dialect.js'
import { classify, isLost, isReadOnly, isUnprepared, UnconfirmedCommit, UnsentStatement } from '../faults.js'
import type { Address } from './cancel.js'
import type { PoolSource, PostgresClient } from './pool.js'

/** The columns of a row, as text. */
type TextRow = readonly (string | null)[]

/** The parts of a connection of `pg` that queries of `pg` use. */
interface Wire {
  readonly parsedStatements: { readonly [name: string]: unknown }
  readonly stream: { cork(): void; uncork(): void }
  parse(statement: { readonly text: string; readonly name: string }): void
  bind(values: { readonly statement: string; readonly values: readonly string[] }): void
  execute(): void
  sync(): void
}

/** A statement of a query. */
interface NamedStatement {
  readonly text: string
  readonly values: readonly Value[]
  /** The name under which the statement is prepared; empty for an unnamed statement. */
  readonly name: string
}

/**
 * The result of a query: the rows of its last statement, and the number of rows that this statement changed or
 * returned.
 */
export interface RowsRead {
  readonly rows: readonly TextRow[]
  readonly rowCount: number
}

/**
 * A query that `pg` submits like its own queries, by calling the methods of this object. All its statements are sent
 * together and form one transaction: with queries of `pg`, a write and the limit of its lock waits would take three
 * round trips, and more than half as much CPU again. It reads rows as text, without a row description.
 * `test/adapters/postgres-wire.test.ts` checks the parts of `pg` that it uses. It is a class because V8 would keep an
 * object literal with getters, including its rows, until a major garbage collection.
 */
class RowQuery {
  readonly #parts: readonly NamedStatement[]
  #rows: TextRow[] = []
  #rowCount = 0
  /** The number of finished statements. */
  #done = 0
  callback: (thrown: unknown, read?: RowsRead) => void

  constructor(parts: readonly NamedStatement[], callback: RowQuery['callback']) {
    this.#parts = parts
    this.callback = callback
  }

  /**
   * The name and the text of the current statement. `pg` reads them when the server confirms that the statement is
   * prepared, and remembers that.
   */
  get name(): string {
    return this.#parts[this.#done]?.name ?? ''
  }

  get text(): string {
    return this.#parts[this.#done]?.text ?? ''
  }

  submit(wire: Wire): null {
    wire.stream.cork()
    try {
      for (const { text, name, values } of this.#parts) {
        if (name === '' || wire.parsedStatements[name] === undefined) wire.parse({ text, name })
        wire.bind({ statement: name, values: values.map(toText) })
        wire.execute()
      }
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
    return null
  }

  handleDataRow({ fields }: { readonly fields: TextRow }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    if (this.#done < this.#parts.length - 1) {
      this.#done += 1
      this.#rows = []
    } else this.#rowCount = Number(text.slice(text.lastIndexOf(' ') + 1))
  }

  handleError(thrown: unknown): void {
    this.callback(thrown)
  }

  handleReadyForQuery(): void {
    this.callback(null, { rows: this.#rows, rowCount: this.#rowCount })
  }
}

/** Converts a value to the text format of PostgreSQL. */
const toText = (value: Value): string =>
  typeof value === 'object' ? `{${value.map(toElement).join(',')}}` : String(value)

const toElement = (value: Scalar): string =>
  typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value)

/** The maximum number of statements whose first use is remembered. */
const MAX_REMEMBERED = 256

/** The maximum length of a remembered statement, in characters. */
const MAX_LENGTH = 8192

/** The maximum number of prepared statements of one client. */
export const MAX_PREPARED = 512

/**
 * The names of prepared statements. A statement is prepared when it is used again while it is still remembered, so that
 * rare statements cost nothing. Prepared statements are never dropped one by one, because `pg` and poolers keep records
 * that only the end of a connection clears.
 */
export class PreparedStatements {
  #isPreparing: boolean
  readonly #names = createBoundedMap<string, string>(CACHES.prepared, MAX_REMEMBERED)
  readonly #kept = new WeakMap<PostgresClient, Set<string>>()

  constructor(isPreparing: boolean) {
    this.#isPreparing = isPreparing
  }

  /** Returns the name under which a client prepares a statement; empty for a statement that is not prepared. */
  nameOf(client: PostgresClient, text: string): string {
    if (!this.#isPreparing || text.length > MAX_LENGTH) return ''
    const name = this.#names.get(text)
    if (name === undefined) {
      this.#names.set(text, createName(text))
      return ''
    }
    const own = this.#kept.get(client)
    if (own) own.add(name)
    else this.#kept.set(client, new Set([name]))
    return name
  }

  /** Whether a client has reached its limit of prepared statements. The client is then replaced, which drops them. */
  isFull(client: PostgresClient): boolean {
    return (this.#kept.get(client)?.size ?? 0) >= MAX_PREPARED
  }

  /** Stops preparing statements. */
  stop(): void {
    this.#isPreparing = false
  }
}

/** Names a statement by its digest, so that processes that share a pooler share prepared statements. */
const createName = (text: string): string =>
  `cs_${createHash('sha256').update(text).digest('hex').slice(0, 48)}`

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
  readonly run: RunStatement
  /** Runs a statement. Returns the columns of its rows as text. */
  readonly readRows: (text: string, values: readonly Value[]) => Promise<readonly TextRow[]>
  /**
   * Runs a statement that is a complete write. It waits for locks at most `patience` milliseconds, not counting the
   * time of its commit. On a pool of the host application, the `lock_timeout` of that pool applies instead.
   */
  readonly write: (text: string, values: readonly Value[], patience?: number) => Promise<RowsRead>
}

/**
 * Milliseconds for which a write waits for a lock: less than most request timeouts, so that the caller learns that
 * nothing was written.
 */
export const LOCK_MILLISECONDS = 5000

/** The level of the notice about a commit whose wait for the standby was cancelled. */
export const HEARD = 'warning'

/**
 * Builds the statement that is sent before a write, limits the lock waits of the write, and enables warnings. It is
 * separate from the statement of the write, because the server locks the tables of a statement before it runs the
 * statement.
 */
const bound = (patience: number): string =>
  `SELECT set_config('lock_timeout', '${patience}ms', true), set_config('client_min_messages', '${HEARD}', true)`

/** A notice of the server, and the server routine that sent it. */
interface Notice {
  readonly routine?: string | undefined
}

/** The notice events of a client of `pg`. A client of the host application's pool may lack them. */
interface Noticing {
  on(event: 'notice', listener: (notice: Notice) => void): unknown
  removeListener(event: 'notice', listener: (notice: Notice) => void): unknown
}

/** The server routine that waits for a standby. It sends a notice when that wait was cancelled. */
const STANDBY_WAIT = 'SyncRepWaitForLSN'

/** The parts of a client of `pg` that give its address. A client of the host application's pool may lack them. */
interface Connected {
  readonly host?: string
  readonly port?: number
  readonly connection?: {
    readonly stream?: { readonly remoteAddress?: string; readonly remotePort?: number }
  }
}

/**
 * Finds the address of a client. It must be called before the socket is used: reading the address changes the hidden
 * class of the socket in V8, which would deoptimize code that was compiled for sockets in use.
 */
function addressOf(client: PostgresClient): Address {
  const { host, port, connection }: Connected = client as PostgresClient & Connected
  if (host?.startsWith('/')) return { host, port }
  const { remoteAddress, remotePort } = connection?.stream ?? {}
  return { host: remoteAddress ?? host, port: remotePort ?? port }
}

/** A session on a client of `pg`. */
export class ClientSession implements DatabaseSession {
  readonly client: PostgresClient
  readonly address: Address
  /** Called with each statement before it is sent. May throw. */
  check: (text: string) => void = ignore
  /** Whether the connection cannot be used again. */
  isLost = false
  /** The numbers of statements that were sent and answered. Only they show whether waiting work makes progress. */
  sent = 0
  answered = 0
  readonly #hosts: PoolSource['hosts']
  readonly #prepared: PreparedStatements
  /** Whether `pg` accepts queries of its own kind. A client of the host application may only resemble one of `pg`. */
  readonly #takesRowQueries: boolean
  #isUnconfirmed = false

  constructor(client: PostgresClient, { isOwn, hosts }: PoolSource, prepared: PreparedStatements) {
    this.client = client
    this.address = addressOf(client)
    this.#hosts = hosts
    this.#prepared = prepared
    // A client with native bindings has no `connection`.
    this.#takesRowQueries = isOwn && 'connection' in client
    client.on('error', this.#lose)
    ;(client as unknown as Noticing).on('notice', this.#hear)
  }

  /** Whether other work may use the session. */
  get isUsable(): boolean {
    return (
      !this.isLost && !this.#prepared.isFull(this.client) && this.#hosts?.isCurrent(this.client) !== false
    )
  }

  readonly run: RunStatement = async (text, values = []) => {
    // A text with several statements has no values, and cannot be prepared.
    const name = values.length > 0 ? this.#prepared.nameOf(this.client, text) : ''
    const query = {
      text,
      ...(values.length > 0 ? { values: [...values] } : {}),
      ...(name === '' ? {} : { name }),
    }
    return toRows(await this.#send(text, () => this.client.query(query)))
  }

  readonly readRows: DatabaseSession['readRows'] = async (text, values) =>
    (await this.#read(text, values)).rows

  readonly write: DatabaseSession['write'] = (text, values, patience = LOCK_MILLISECONDS) =>
    this.#read(text, values, bound(patience))

  /** Closes the session. Its client returns to the pool, or is destroyed if it is not usable. */
  close(): void {
    this.client.removeListener('error', this.#lose)
    ;(this.client as unknown as Noticing).removeListener('notice', this.#hear)
    this.client.release(!this.isUsable)
  }

  readonly #lose = (): void => {
    this.isLost = true
    this.#hosts?.distrust(this.client)
  }

  readonly #hear = ({ routine }: Notice): void => {
    this.#isUnconfirmed ||= routine === STANDBY_WAIT
  }

  /** Runs a statement, and before it, in the same transaction, the statement `bound`. Omits `bound` on other pools. */
  async #read(text: string, values: readonly Value[], bound?: string): Promise<RowsRead> {
    if (!this.#takesRowQueries) {
      const { rows, rowCount } = await this.run(text, values)
      const toText = (value: unknown): string | null => (value === null ? null : String(value))
      return { rows: rows.map((row) => Object.values(row).map(toText)), rowCount }
    }
    const parts = [...(bound === undefined ? [] : [{ text: bound, values: [] }]), { text, values }]
    const named = parts.map((part) => ({ ...part, name: this.#prepared.nameOf(this.client, part.text) }))
    const ask = (): Promise<RowsRead> =>
      new Promise((resolve, reject) => {
        void this.client.query(new RowQuery(named, (thrown, read) => (read ? resolve(read) : reject(thrown))))
      })
    return this.#send(text, ask)
  }

  async #send<T>(text: string, ask: () => Promise<T>): Promise<T> {
    this.check(text)
    if (this.isLost) throw new UnsentStatement()
    this.sent += 1
    let answer: T
    try {
      answer = await ask()
    } catch (cause) {
      throw this.#explain(cause)
    } finally {
      this.answered = this.sent
    }
    if (!this.#isUnconfirmed) return answer
    this.#isUnconfirmed = false
    throw new UnconfirmedCommit()
  }

  #explain(cause: unknown): unknown {
    const thrown = classify(cause)
    if (isLost(thrown)) this.#lose()
    if (isReadOnly(thrown)) {
      this.isLost = true
      this.#hosts?.discard(this.client)
    }
    // A pooler between this process and the server has not kept a prepared statement, so no more statements are
    // prepared.
    if (isUnprepared(thrown)) this.#prepared.stop()
    return thrown
  }
}

/**
 * Ignores the error event of a lost connection, whose statement also fails. Without a listener, the event would end the
 * process.
 */
export const ignore = (): void => {}

/** Reads the result of a client's `query`. Returns no rows if the result is missing. */
export function toRows(result: unknown): Rows {
  const { rows, rowCount } = (result ?? {}) as {
    readonly rows?: Rows['rows']
    readonly rowCount?: number | null
  }
  return { rows: rows ?? [], rowCount: rowCount ?? 0 }
}
