import { ignore } from '../session.js'
import type { AnyClient, Pg } from './pg.js'

/** The milliseconds in which a host has to answer. */
export const ANSWER_MILLISECONDS = 2000

/** The milliseconds that the other hosts have when one has said that it takes writes. */
const GRACE = 250

/**
 * Asks a host whether it takes writes, and for its timeline, which grows with every fail-over. A simple query,
 * for poolers.
 */
const ASK = `SELECT (NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off')::text AS writes,
CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END AS timeline`

/** What asks a connection, or rejects where its server takes no writes or does not answer in time. */
export async function askWriter(client: AnyClient): Promise<string> {
  const [row] = (await inTime(client.query(ASK))).rows as readonly { writes: unknown; timeline: unknown }[]
  if (row?.writes !== 'true') throw new Error('takes no writes')
  return String(row.timeline)
}

/** Makes a client for a host, which is not yet connected. */
export type Connect = (url: string) => InstanceType<Pg['Client']>

/**
 * Finds the host that takes writes. A leader that was stopped or cut off may still believe that it is one: the
 * latest timeline counts, and among equals the `current` host. Rejects where no host takes writes, with what each
 * said.
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
  if (first === undefined) throw new Error(`no host takes writes (${refusals.join('; ')})`)
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

/** Ends a connection whose server may never answer again. Its statement fails. */
export function breakOff(client: AnyClient): void {
  const { connection } = client as { readonly connection?: { readonly stream?: { destroy(): void } } }
  if (connection?.stream) connection.stream.destroy()
  // With native bindings there is no stream to get at.
  else void (client as InstanceType<Pg['Client']>).end().catch(ignore)
}

/** Resolves after some milliseconds. */
export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => later(resolve, milliseconds))

/** The value of a promise; rejects when it takes too long. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = later(() => reject(new Error('does not answer')), ANSWER_MILLISECONDS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Without the user and the password. */
function nameHost(url: string): string {
  const { host, searchParams } = new URL(url)
  const [name, port] = [searchParams.get('host'), searchParams.get('port')]
  return name ? name + (port ? `:${port}` : '') : host
}

/** The error of several addresses has a code but no message. */
const describe = (thrown: Error): string =>
  thrown.message || String((thrown as NodeJS.ErrnoException).code ?? thrown.name)

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout
