import type { PoolSource, PostgresClient } from '../pool.js'
import { ignore } from '../session.js'
import { ANSWER_MILLISECONDS, askWriter, breakOff, findWriter, pause } from './find-writer.js'
import type { Pg, PgPool, PooledClient } from './pg.js'
import type { HostList } from './split-hosts.js'

/** The connections to one host. */
interface Place {
  readonly url: string
  readonly pool: PgPool
  /** The connections in use. */
  readonly given: Set<PooledClient>
  /** Those whose server has said that it takes writes. */
  readonly asked: WeakSet<PostgresClient>
}

/** Milliseconds to wait for a connection to the only host. */
const CONNECT_MILLISECONDS = 5000

/** The milliseconds for which a host that takes writes is looked for, and between two looks. */
const PATIENCE = 1000
const PAUSE = 100

/** The milliseconds between two looks on behalf of what waits, and for which a failed look is the answer to all. */
const BACKGROUND = 500

/**
 * Creates the pool of some hosts: its connections lead to the one that takes writes. Where another one takes
 * over, the connections to the old one are broken off, with what they wait for (CONTRACT.md §10, "Several hosts"). A
 * single host is not asked.
 */
export function createHosts({ urls, mustTakeWrites }: HostList, { Pool, Client }: Pg): PoolSource {
  let current: Place | undefined
  let isTrusted = false
  let looking: Promise<Place> | undefined
  let isLookingBehind = false
  let looked = Number.NEGATIVE_INFINITY
  let failure: unknown
  let isEnded = false

  const open = (url: string): Place => {
    const pool = new Pool({
      connectionString: url,
      connectionTimeoutMillis: mustTakeWrites ? ANSWER_MILLISECONDS : CONNECT_MILLISECONDS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'collection-service',
    })
    const place: Place = { url, pool, given: new Set(), asked: new WeakSet() }
    pool.on('acquire', (client) => void place.given.add(client))
    pool.on('release', (_, client) => void place.given.delete(client))
    // A lost idle connection is replaced when one is needed; without a listener it would end the process.
    pool.on('error', () => {
      if (place === current) isTrusted = false
    })
    return place
  }
  const leave = (place: Place | undefined): void => {
    if (place === current) current = undefined
    void place?.pool.end().catch(ignore)
  }
  const take = (url: string): Place => {
    if (isEnded) throw new Error('the pool is closed')
    const before = current
    if (before?.url !== url) {
      leave(before)
      for (const client of before?.given ?? []) breakOff(client)
      current = open(url)
    }
    isTrusted = true
    failure = undefined
    return current as Place
  }
  const lookFor = async (): Promise<Place> => {
    const end = performance.now() + PATIENCE
    for (;;) {
      try {
        return take(await findWriter(urls, current?.url, Client))
      } catch (thrown) {
        if (isEnded || performance.now() >= end) throw thrown
      }
      await pause(PAUSE)
    }
  }
  const look = (): Promise<Place> => {
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
  /** Looks until a host is found, or nothing waits for the old one. */
  const lookBehind = async (): Promise<void> => {
    if (isLookingBehind) return
    isLookingBehind = true
    for (;;) {
      await look().catch(ignore)
      if (isEnded || isTrusted || !current || current.given.size === 0) break
      await pause(BACKGROUND)
    }
    isLookingBehind = false
  }
  const settle = async (): Promise<Place> => {
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
  const connectTo = async (place: Place): Promise<PostgresClient> => {
    const client = await place.pool.connect()
    try {
      if (mustTakeWrites && !place.asked.has(client)) await askWriter(client)
      if (place !== current) throw new Error('another host takes writes')
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
        if (mustTakeWrites && performance.now() - looked >= PATIENCE) void lookBehind()
      },
      distrust(client) {
        if (!mustTakeWrites || !isCurrent(client)) return
        isTrusted = false
        void lookBehind()
      },
      discard(client) {
        if (isCurrent(client)) leave(current)
      },
    },
    async end() {
      isEnded = true
      await current?.pool.end()
    },
  }
}
