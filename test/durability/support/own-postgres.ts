import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { startPostgres, type TestPostgres } from '../../support/start-postgres.mjs'
import { until } from '../../support/until.js'

/** A PostgreSQL that nobody else uses, so that it may be stopped and its connections counted. */
export interface OwnPostgres {
  readonly url: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Kills the server without a chance to finish anything. */
  kill(): Promise<void>
  /** The process of the server that all others of it descend from. */
  processId(): Promise<number>
  /** Runs a statement on a connection of its own. */
  query(text: string, values?: readonly unknown[]): Promise<readonly { readonly [column: string]: unknown }[]>
  /** A connection that the test ends. */
  connect(): Promise<pg.Client>
  /** How many connections a service has, or those of them for which a condition holds. */
  countConnections(condition?: string): Promise<number>
}

export function useOwnPostgres(): OwnPostgres {
  let server: TestPostgres | undefined
  const use = (): TestPostgres => {
    if (!server) throw new Error('the server is not there yet')
    return server
  }
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => {
    await server?.destroy()
  })

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: use().url })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const query: OwnPostgres['query'] = async (text, values = []) => {
    const client = await connect()
    try {
      return (await client.query(text, [...values])).rows
    } finally {
      await client.end()
    }
  }
  const processId = async (): Promise<number> => {
    const [row] = await query('SHOW data_directory')
    const text = await readFile(join(String(row?.data_directory), 'postmaster.pid'), 'utf8')
    return Number(text.split('\n')[0])
  }
  return {
    get url() {
      return use().url
    },
    stop: () => use().stop(),
    // After a kill the processes that the server leaves behind hold its memory for a moment.
    start: () =>
      until(
        () =>
          use()
            .start()
            .then(
              () => true,
              () => false,
            ),
        'the server starts',
        30,
      ),
    async kill() {
      process.kill(await processId(), 'SIGKILL')
    },
    processId,
    query,
    connect,
    async countConnections(condition = 'true') {
      const [row] = await query(
        `SELECT count(*)::int AS total FROM pg_stat_activity WHERE application_name = 'collection-service' AND ${condition}`,
      )
      return Number(row?.total)
    },
  }
}
