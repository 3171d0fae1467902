import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { startPostgres, type TestPostgres } from './start-postgres.mjs'

let serial = 0

/** A schema of PostgreSQL that nobody else uses. */
export const newSchema = (): string => `test_${process.pid}_${Date.now().toString(36)}_${serial++}`

/** A pool of a host: a pool that has ended does not wait until the server has closed its connections. */
export const newPool = (options: pg.PoolConfig): pg.Pool => new pg.Pool(options).on('error', () => {})

/** The URL of a PostgreSQL for the tests of a file: that of `DATABASE_URL`, else one started for them. */
export function usePostgres(): { readonly url: string } {
  let url = process.env.DATABASE_URL ?? ''
  let own: TestPostgres | undefined
  beforeAll(async () => {
    if (url !== '') return
    own = await startPostgres()
    url = own.url
  })
  afterAll(async () => {
    await own?.destroy()
  })
  return {
    get url() {
      return url
    },
  }
}
