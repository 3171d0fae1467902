import { ignore } from '../session.js'
import type { AnyClient, Pg } from './pg.js'

/** How long a host may take to answer, in milliseconds. */
export const ANSWER_MILLISECONDS = 2000

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
export async function askWriter(client: AnyClient): Promise<string> {
  const [row] = (await inTime(client.query(ASK))).rows as readonly { writes: unknown; timeline: unknown }[]
  if (row?.writes !== 'true') throw new Error('accepts no writes')
  return String(row.timeline)
}

/** Creates a client for a host, not yet connected. */
export type Connect = (url: string) => InstanceType<Pg['Client']>

/**
 * Finds the host that accepts writes. An old primary that was stopped or cut off may still report that it is the
 * primary. So the host with the latest timeline is chosen and, if several have it, the `current` host. If no host
 * accepts writes, rejects with the answer of each host.
 */
export async function findWriter(
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
export function breakOff(client: AnyClient): void {
  const { connection } = client as { readonly connection?: { readonly stream?: { destroy(): void } } }
  if (connection?.stream) connection.stream.destroy()
  // Native bindings have no stream.
  else void (client as InstanceType<Pg['Client']>).end().catch(ignore)
}

/** Resolves after some milliseconds. */
export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => later(resolve, milliseconds))

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
