import type pg from 'pg'
import type { PoolSource, PostgresClient, PostgresPool } from './pool.js'
import { ignore } from './session.js'
import { GRACE, pause, within } from './timers.js'

/** The parts of `pg` that create connections. */
export type Pg = Pick<typeof pg, 'Pool' | 'Client'>

/** Creates the adapter's own pool. Rejects with installation advice if `pg` is missing. */
export const createPool = async (connectionString: string): Promise<PoolSource> =>
  new HostPools(splitHosts(connectionString), await importPg())

async function importPg(): Promise<Pg> {
  try {
    // Some bundlers and runtimes do not find the named exports of a CommonJS package.
    return (await import('pg')).default
  } catch (cause) {
    throw new Error(
      'the PostgreSQL adapter needs the package pg, which cannot be imported; install it with npm install pg',
      { cause },
    )
  }
}

/** The hosts of a connection string. */
export interface HostList {
  /** One connection string per host. */
  readonly urls: readonly string[]
  /** Whether connections must lead to a host that accepts writes. */
  readonly mustTakeWrites: boolean
}

/** The parts of a connection string: the text before the hosts, the hosts, the database, and the parameters. */
const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(?:\?([^#]*))?/

const TARGET = 'target_session_attrs'

/**
 * Splits a connection string into one string per host. As in libpq, hosts with their ports are separated by commas,
 * or listed in the parameters `host` and `port`. Throws an `Error` for an invalid list. `pg` reads all other parts.
 */
export function splitHosts(text: string): HostList {
  const [, head, places = '', path = '', query = ''] = SHAPE.exec(text) ?? []
  if (head === undefined) return { urls: [text], mustTakeWrites: false }
  const parameters = new URLSearchParams(query)
  for (const name of [TARGET, 'host', 'port'])
    if (parameters.getAll(name).length > 1) throw new Error(`must contain the parameter ${name} at most once`)
  const target = parameters.get(TARGET)
  parameters.delete(TARGET)
  const write = (place: string): string => head + place + path + (parameters.size > 0 ? `?${parameters}` : '')
  const named = parameters.get('host')?.split(',') ?? []
  const ports = parameters.get('port')?.split(',') ?? []
  if (named.length > 0 && places.includes(','))
    throw new Error(
      'must list several hosts either before the database or in the parameter host, but not in both',
    )
  if (ports.length > 1 && ports.length !== named.length)
    throw new Error(
      'must have one port in the parameter port, or one port for each host in the parameter host',
    )
  const urls =
    named.length > 1
      ? named.map((host, i) => {
          const port = ports[i] ?? ports[0] ?? ''
          parameters.set('host', host)
          if (port === '') parameters.delete('port')
          else parameters.set('port', port)
          return write(places)
        })
      : places.split(',').map(write)
  const isOne = urls.length === 1
  checkTarget(target, isOne)
  if (!isOne && (named.length > 1 ? named : places.split(',')).some((place) => /^(?::|$)/.test(place)))
    throw new Error('must not contain an empty host before, between or after commas')
  if (isOne && target === null) return { urls: [text], mustTakeWrites: false }
  return { urls, mustTakeWrites: !isOne || target !== 'any' }
}

/** Throws if `target_session_attrs` asks for hosts that accept no writes, because the service cannot use such hosts. */
function checkTarget(target: string | null, isOne: boolean): void {
  if (target === null || target === 'read-write' || target === 'primary' || (target === 'any' && isOne))
    return
  throw new Error(
    `must have the value read-write in the parameter ${TARGET}, because the service needs a host that accepts writes`,
  )
}

/** The pool of one host. */
interface HostPool {
  readonly url: string
  readonly pool: pg.Pool
  /** The connections in use. */
  readonly given: Set<PostgresClient>
  /** The connections whose server has confirmed that it accepts writes. */
  readonly asked: WeakSet<PostgresClient>
}

/** Milliseconds to wait for a connection to the only host. */
const CONNECT_MILLISECONDS = 5000

/** Milliseconds for which the search for a host that accepts writes lasts, and milliseconds between its attempts. */
const PATIENCE = 1000
const PAUSE = 100

/**
 * Milliseconds between searches in the background. After a failed search, all new connections are rejected for the
 * same time.
 */
const BACKGROUND = 500

/** How long a host may take to answer, in milliseconds. */
const ANSWER_MILLISECONDS = 2000

/** Milliseconds in which other hosts may still answer after one host has answered that it accepts writes. */
const OTHERS_MILLISECONDS = 250

/**
 * Asks a host whether it accepts writes, and for its timeline, which grows with every fail-over. It is a query
 * without parameters, because every pooler accepts such a query.
 */
const ASK = `SELECT (NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off')::text AS writes,
CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END AS timeline`

/**
 * Returns the timeline of a connection's server. Rejects if the server accepts no writes or does not answer in time.
 */
async function askWriter(client: pg.ClientBase): Promise<string> {
  const answer = await within(ANSWER_MILLISECONDS, client.query(ASK))
  if (!answer) throw new Error('does not answer')
  const [row] = answer.rows as readonly { writes: unknown; timeline: unknown }[]
  if (row?.writes !== 'true') throw new Error('accepts no writes')
  return String(row.timeline)
}

/** Creates a client for a host, not yet connected. */
type Connect = (url: string) => pg.Client

/**
 * Finds the host that accepts writes. An old primary that was stopped or cut off may still report that it is the
 * primary. So the host with the latest timeline is chosen and, if several have it, the `current` host. If no host
 * accepts writes, rejects with the answer of each host.
 */
async function findWriter(
  urls: readonly string[],
  current: string | undefined,
  connect: Connect,
): Promise<string> {
  const writers: { readonly url: string; readonly timeline: string }[] = []
  const refusals: string[] = []
  let hurry: () => void = ignore
  const found = new Promise<void>((resolve) => {
    hurry = resolve
  })
  const asking = urls.map(async (url) => {
    try {
      writers.push({ url, timeline: await askHost(connect(url)) })
      hurry()
    } catch (thrown) {
      refusals.push(`${nameHost(url)}: ${thrown instanceof Error ? describe(thrown) : String(thrown)}`)
    }
  })
  await Promise.race([Promise.all(asking), found.then(() => pause(OTHERS_MILLISECONDS))])
  const latest = writers.reduce((most, { timeline }) => (timeline > most ? timeline : most), '')
  const able = urls.filter((url) => writers.some((one) => one.url === url && one.timeline === latest))
  const [first] = able
  if (first === undefined) throw new Error(`no host accepts writes (${refusals.join('; ')})`)
  return able.find((url) => url === current) ?? first
}

async function askHost(client: pg.Client): Promise<string> {
  client.on('error', ignore)
  try {
    await client.connect()
    const timeline = await askWriter(client)
    void client.end().catch(ignore)
    return timeline
  } catch (thrown) {
    breakOff(client)
    throw thrown
  }
}

/** Destroys the connection to a server that may never answer again. A statement that runs on it fails. */
function breakOff(client: pg.ClientBase): void {
  const { connection } = client as { readonly connection?: { readonly stream?: { destroy(): void } } }
  if (connection?.stream) connection.stream.destroy()
  // Native bindings have no stream.
  else void (client as pg.Client).end().catch(ignore)
}

/** Returns the host and port of a URL, without user and password. */
function nameHost(url: string): string {
  const { host, searchParams } = new URL(url)
  const [name, port] = [searchParams.get('host'), searchParams.get('port')]
  return name ? name + (port ? `:${port}` : '') : host
}

/** Describes an error. An error about several addresses of a host has a code but no message. */
const describe = (thrown: Error): string =>
  thrown.message || String((thrown as NodeJS.ErrnoException).code ?? thrown.name)

const closedPool = (): Error => new Error('the pool is closed')

/**
 * A pool for several hosts. Its connections lead to the host that accepts writes. After a fail-over, connections to the
 * old host are destroyed, and their statements fail (CONTRACT.md §10, "Several hosts"). If `mustTakeWrites` is false,
 * the only host is not checked.
 */
export class HostPools implements PoolSource {
  readonly isOwn = true
  readonly hosts = this
  readonly pool: PostgresPool
  readonly #list: HostList
  readonly #pg: Pg
  #current: HostPool | undefined
  /** Whether the current host has confirmed that it accepts writes, and no connection was lost since. */
  #isTrusted = false
  /** The search that runs, and the searches in the background. */
  #looking: Promise<HostPool> | undefined
  #lookingBehind: Promise<void> | undefined
  /** When the last search ended, and its error if it failed. */
  #looked = Number.NEGATIVE_INFINITY
  #failure: unknown
  #isEnded = false
  #wake = ignore
  readonly #ended = new Promise<void>((resolve) => {
    this.#wake = resolve
  })
  /** A promise for each pool that is closing. */
  readonly #leaving = new Set<Promise<void>>()
  /** All open connections, and those that only ask hosts whether they accept writes. */
  readonly #opened = new Set<pg.ClientBase>()
  readonly #asking = new Set<pg.Client>()
  #onClosed = ignore

  constructor(list: HostList, pg: Pg) {
    this.#list = list
    this.#pg = pg
    const countWaiting = (): number => this.#current?.pool.waitingCount ?? 0
    this.pool = {
      get waitingCount() {
        return countWaiting()
      },
      connect: () => this.#connect(),
    }
  }

  isCurrent(client: PostgresClient): boolean {
    return this.#current?.given.has(client) === true
  }

  doubt(): void {
    if (this.#list.mustTakeWrites && performance.now() - this.#looked >= PATIENCE) this.#lookBehind()
  }

  distrust(client: PostgresClient): void {
    if (!this.#list.mustTakeWrites || !this.isCurrent(client)) return
    this.#isTrusted = false
    this.#lookBehind()
  }

  discard(client: PostgresClient): void {
    if (this.isCurrent(client)) this.#leave(this.#current)
  }

  async end(): Promise<void> {
    this.#isEnded = true
    this.#wake()
    this.#leave(this.#current)
    for (const client of this.#asking) breakOff(client)
    await Promise.all([...this.#leaving, this.#looking?.catch(ignore), this.#lookingBehind])
    const closed = new Promise<void>((resolve) => {
      this.#onClosed = resolve
    })
    this.#tellClosed()
    await within(GRACE, closed)
    // These servers do not answer.
    for (const client of this.#opened) breakOff(client)
    await within(GRACE, closed)
  }

  #tellClosed(): void {
    if (this.#opened.size === 0) this.#onClosed()
  }

  async #connect(): Promise<PostgresClient> {
    const place = await this.#settle()
    if (!this.#list.mustTakeWrites) return place.pool.connect()
    try {
      return await this.#connectTo(place)
    } catch {
      if (place === this.#current) this.#isTrusted = false
      return this.#connectTo(await this.#settle())
    }
  }

  async #connectTo(place: HostPool): Promise<PostgresClient> {
    const client = await place.pool.connect()
    try {
      if (!place.asked.has(client)) await askWriter(client)
      if (place !== this.#current) throw new Error('another host now accepts the writes')
      place.asked.add(client)
      return client
    } catch (thrown) {
      breakOff(client)
      client.release(true)
      throw thrown
    }
  }

  /** Returns the pool of the current host, after a search if it is not trusted. */
  async #settle(): Promise<HostPool> {
    if (this.#isEnded) throw closedPool()
    if (!this.#list.mustTakeWrites) {
      this.#current ??= this.#open(this.#list.urls[0] ?? '')
      return this.#current
    }
    if (this.#current && this.#isTrusted) return this.#current
    if (this.#failure !== undefined && performance.now() - this.#looked < BACKGROUND && !this.#looking)
      throw this.#failure
    return this.#look()
  }

  #open(url: string): HostPool {
    const pool = new this.#pg.Pool({
      connectionString: url,
      connectionTimeoutMillis: this.#list.mustTakeWrites ? ANSWER_MILLISECONDS : CONNECT_MILLISECONDS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'collection-service',
    })
    const place: HostPool = { url, pool, given: new Set(), asked: new WeakSet() }
    pool.on('connect', (client) => {
      // Between its connection and its first query, a client has no listener of the pool or of a session. The error of
      // a server that stops in that moment would end the process.
      client.on('error', ignore)
      this.#opened.add(client)
    })
    pool.on('remove', (client) => this.#forget(client))
    pool.on('acquire', (client) => void place.given.add(client))
    pool.on('release', (_, client) => void place.given.delete(client))
    // A lost idle connection is replaced when one is needed. Without a listener, its error would end the process.
    pool.on('error', () => {
      if (place === this.#current) this.#isTrusted = false
    })
    return place
  }

  #forget(client: pg.ClientBase): void {
    this.#opened.delete(client)
    this.#tellClosed()
  }

  #leave(place: HostPool | undefined): void {
    if (place === this.#current) this.#current = undefined
    if (!place) return
    const end = place.pool
      .end()
      .catch(ignore)
      .finally(() => this.#leaving.delete(end))
    this.#leaving.add(end)
  }

  /** Makes a host the current one. */
  #take(url: string): HostPool {
    if (this.#isEnded) throw closedPool()
    const before = this.#current
    if (before?.url !== url) {
      this.#leave(before)
      for (const client of before?.given ?? []) breakOff(client as pg.PoolClient)
      this.#current = this.#open(url)
    }
    this.#isTrusted = true
    this.#failure = undefined
    return this.#current as HostPool
  }

  #look(): Promise<HostPool> {
    this.#looking ??= this.#lookFor()
      .catch((thrown: unknown) => {
        this.#isTrusted = false
        this.#failure = thrown
        throw thrown
      })
      .finally(() => {
        this.#looking = undefined
        this.#looked = performance.now()
      })
    return this.#looking
  }

  async #lookFor(): Promise<HostPool> {
    const end = performance.now() + PATIENCE
    for (;;) {
      try {
        const connect: Connect = (url) => this.#createClient(url)
        return this.#take(await findWriter(this.#list.urls, this.#current?.url, connect))
      } catch (thrown) {
        if (this.#isEnded || performance.now() >= end) throw thrown
      }
      await Promise.race([pause(PAUSE), this.#ended])
    }
  }

  /** Creates a client that only asks a host whether it accepts writes. */
  #createClient(connectionString: string): pg.Client {
    if (this.#isEnded) throw closedPool()
    const client = new this.#pg.Client({
      connectionString,
      connectionTimeoutMillis: ANSWER_MILLISECONDS,
      application_name: 'collection-service',
    })
    this.#opened.add(client)
    this.#asking.add(client)
    client.once('end', () => {
      this.#asking.delete(client)
      this.#forget(client)
    })
    return client
  }

  #lookBehind(): void {
    if (!this.#isEnded) this.#lookingBehind ??= this.#lookUntilFound()
  }

  /** Searches until a host is found, or until the old pool has no more connections in use. */
  async #lookUntilFound(): Promise<void> {
    for (;;) {
      await this.#look().catch(ignore)
      if (this.#isEnded || this.#isTrusted || !this.#current || this.#current.given.size === 0) break
      await Promise.race([pause(BACKGROUND), this.#ended])
    }
    this.#lookingBehind = undefined
  }
}
