import { withinGrace } from '../cancel.js'
import type { PoolSource, PostgresClient } from '../pool.js'
import { ignore } from '../session.js'
import { type AnyClient, importPg, type Pg, type PgPool, type PooledClient } from './pg.js'

/** Creates the adapter's own pool. Rejects with installation advice if `pg` is missing. */
export const createPool = async (connectionString: string): Promise<PoolSource> =>
  createHosts(splitHosts(connectionString), await importPg())

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
  readonly pool: PgPool
  /** The connections in use. */
  readonly given: Set<PooledClient>
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

/** A set of open connections. */
interface Opened {
  readonly all: ReadonlySet<AnyClient>
  add(client: AnyClient): void
  delete(client: AnyClient): void
  /** Resolves when all connections are closed. Destroys connections whose server does not answer. */
  closed(): Promise<void>
}

/** How long a host may take to answer, in milliseconds. */
const ANSWER_MILLISECONDS = 2000

/** Milliseconds in which other hosts may still answer after one host has answered that it accepts writes. */
const GRACE = 250

/**
 * Asks a host whether it accepts writes, and for its timeline, which grows with every fail-over. It is a query
 * without parameters, because every pooler accepts such a query.
 */
const ASK = `SELECT (NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off')::text AS writes,
CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END AS timeline`

/**
 * Returns the timeline of a connection's server. Rejects if the server accepts no writes or does not answer in time.
 */
async function askWriter(client: AnyClient): Promise<string> {
  const [row] = (await inTime(client.query(ASK))).rows as readonly { writes: unknown; timeline: unknown }[]
  if (row?.writes !== 'true') throw new Error('accepts no writes')
  return String(row.timeline)
}

/** Creates a client for a host, not yet connected. */
type Connect = (url: string) => InstanceType<Pg['Client']>

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
  await Promise.race([Promise.all(asking), found.then(() => pause(GRACE))])
  const latest = writers.reduce((most, { timeline }) => (timeline > most ? timeline : most), '')
  const able = urls.filter((url) => writers.some((one) => one.url === url && one.timeline === latest))
  const [first] = able
  if (first === undefined) throw new Error(`no host accepts writes (${refusals.join('; ')})`)
  return able.find((url) => url === current) ?? first
}

async function askHost(client: ReturnType<Connect>): Promise<string> {
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
function breakOff(client: AnyClient): void {
  const { connection } = client as { readonly connection?: { readonly stream?: { destroy(): void } } }
  if (connection?.stream) connection.stream.destroy()
  // Native bindings have no stream.
  else void (client as InstanceType<Pg['Client']>).end().catch(ignore)
}

/** Resolves after some milliseconds. */
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => later(resolve, milliseconds))

/** Resolves to the value of a promise. Rejects if it takes longer than `ANSWER_MILLISECONDS`. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = later(() => reject(new Error('does not answer')), ANSWER_MILLISECONDS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
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

// Captured when this module loads, so that the fake timers of a test do not stop it.
const later = setTimeout

/** Creates an empty set of connections. */
function createOpened(): Opened {
  const all = new Set<AnyClient>()
  let onEmpty: (() => void) | undefined
  const tell = (): void => {
    if (all.size === 0) onEmpty?.()
  }
  return {
    all,
    add: (client) => void all.add(client),
    delete(client) {
      all.delete(client)
      tell()
    },
    async closed() {
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve
      })
      tell()
      await withinGrace(empty)
      for (const client of all) breakOff(client)
      await withinGrace(empty)
    },
  }
}

/**
 * Creates a pool for several hosts. Its connections lead to the host that accepts writes. After a fail-over,
 * connections to the old host are destroyed, and their statements fail (CONTRACT.md §10, "Several hosts"). If
 * `mustTakeWrites` is false, the only host is not checked.
 */
export function createHosts({ urls, mustTakeWrites }: HostList, { Pool, Client }: Pg): PoolSource {
  let current: HostPool | undefined
  let isTrusted = false
  let looking: Promise<HostPool> | undefined
  let lookingBehind: Promise<void> | undefined
  let looked = Number.NEGATIVE_INFINITY
  let failure: unknown
  let isEnded = false
  /** A promise for each pool that is closing. */
  const leaving = new Set<Promise<void>>()
  /** The connections of all pools, and the connections that only ask hosts whether they accept writes. */
  const [pooled, asking] = [createOpened(), createOpened()]
  let wake: () => void = ignore
  const ended = new Promise<void>((resolve) => {
    wake = resolve
  })

  const connect: Connect = (connectionString) => {
    if (isEnded) throw new Error('the pool is closed')
    const client = new Client({
      connectionString,
      connectionTimeoutMillis: ANSWER_MILLISECONDS,
      application_name: 'collection-service',
    })
    asking.add(client)
    client.once('end', () => asking.delete(client))
    return client
  }
  const open = (url: string): HostPool => {
    const pool = new Pool({
      connectionString: url,
      connectionTimeoutMillis: mustTakeWrites ? ANSWER_MILLISECONDS : CONNECT_MILLISECONDS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'collection-service',
    })
    const place: HostPool = { url, pool, given: new Set(), asked: new WeakSet() }
    pool.on('connect', pooled.add)
    pool.on('remove', pooled.delete)
    pool.on('acquire', (client) => void place.given.add(client))
    pool.on('release', (_, client) => void place.given.delete(client))
    // A lost idle connection is replaced when one is needed. Without a listener, its error would end the process.
    pool.on('error', () => {
      if (place === current) isTrusted = false
    })
    return place
  }
  const leave = (place: HostPool | undefined): void => {
    if (place === current) current = undefined
    if (!place) return
    const end = place.pool
      .end()
      .catch(ignore)
      .finally(() => leaving.delete(end))
    leaving.add(end)
  }
  const take = (url: string): HostPool => {
    if (isEnded) throw new Error('the pool is closed')
    const before = current
    if (before?.url !== url) {
      leave(before)
      for (const client of before?.given ?? []) breakOff(client)
      current = open(url)
    }
    isTrusted = true
    failure = undefined
    return current as HostPool
  }
  const lookFor = async (): Promise<HostPool> => {
    const end = performance.now() + PATIENCE
    for (;;) {
      try {
        return take(await findWriter(urls, current?.url, connect))
      } catch (thrown) {
        if (isEnded || performance.now() >= end) throw thrown
      }
      await Promise.race([pause(PAUSE), ended])
    }
  }
  const look = (): Promise<HostPool> => {
    looking ??= lookFor()
      .catch((thrown: unknown) => {
        isTrusted = false
        failure = thrown
        throw thrown
      })
      .finally(() => {
        looking = undefined
        looked = performance.now()
      })
    return looking
  }
  /** Searches until a host is found, or until the old pool has no more connections in use. */
  const lookUntilFound = async (): Promise<void> => {
    for (;;) {
      await look().catch(ignore)
      if (isEnded || isTrusted || !current || current.given.size === 0) break
      await Promise.race([pause(BACKGROUND), ended])
    }
    lookingBehind = undefined
  }
  const lookBehind = (): void => {
    if (!isEnded) lookingBehind ??= lookUntilFound()
  }
  const settle = async (): Promise<HostPool> => {
    if (isEnded) throw new Error('the pool is closed')
    if (!mustTakeWrites) {
      current ??= open(urls[0] ?? '')
      return current
    }
    if (current && isTrusted) return current
    if (failure !== undefined && performance.now() - looked < BACKGROUND && !looking) throw failure
    return look()
  }
  const isCurrent = (client: PostgresClient): boolean => current?.given.has(client as PooledClient) === true
  const connectTo = async (place: HostPool): Promise<PostgresClient> => {
    const client = await place.pool.connect()
    try {
      if (mustTakeWrites && !place.asked.has(client)) await askWriter(client)
      if (place !== current) throw new Error('another host now accepts the writes')
      place.asked.add(client)
      return client
    } catch (thrown) {
      breakOff(client)
      client.release(true)
      throw thrown
    }
  }

  return {
    isOwn: true,
    pool: {
      get waitingCount() {
        return current?.pool.waitingCount ?? 0
      },
      async connect() {
        const place = await settle()
        if (!mustTakeWrites) return place.pool.connect()
        try {
          return await connectTo(place)
        } catch {
          if (place === current) isTrusted = false
          return connectTo(await settle())
        }
      },
    },
    hosts: {
      isCurrent,
      doubt() {
        if (mustTakeWrites && performance.now() - looked >= PATIENCE) lookBehind()
      },
      distrust(client) {
        if (!mustTakeWrites || !isCurrent(client)) return
        isTrusted = false
        lookBehind()
      },
      discard(client) {
        if (isCurrent(client)) leave(current)
      },
    },
    async end() {
      isEnded = true
      wake()
      leave(current)
      for (const client of asking.all) breakOff(client)
      await Promise.all([...leaving, looking?.catch(ignore), lookingBehind])
      await Promise.all([pooled.closed(), asking.closed()])
    },
  }
}
