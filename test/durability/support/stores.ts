import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { createPostgresAdapter } from '../../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../../src/adapters/sqlite/sqlite-adapter.js'
import type { StorageAdapter } from '../../../src/index.js'
import { newSchema, usePostgres } from '../../support/postgres.js'
import { isQuick } from '../../support/tier.js'

/** A place for documents, such that another process can be told of it. */
export type Store =
  | { readonly engine: 'sqlite'; readonly options: { readonly file: string } }
  | {
      readonly engine: 'postgres'
      readonly options: { readonly connectionString: string; readonly schema: string }
    }

/** An adapter of this process. */
export const connect = (store: Store): StorageAdapter =>
  store.engine === 'sqlite' ? createSqliteAdapter(store.options) : createPostgresAdapter(store.options)

/** Empty stores, all of them removed after the tests. */
export interface Stores {
  create(): Store
}

export function useSqliteStores(): Stores {
  let folder = ''
  let serial = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-durability-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return { create: () => ({ engine: 'sqlite', options: { file: join(folder, `${serial++}.db`) } }) }
}

function usePostgresStores(): Stores {
  const schemas: string[] = []
  const postgres = usePostgres()
  // What is to be done after the tests is done from the last to the first: the server is still there.
  afterAll(async () => {
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
  })
  return {
    create() {
      const schema = newSchema()
      schemas.push(schema)
      return { engine: 'postgres', options: { connectionString: postgres.url, schema } }
    },
  }
}

const all: readonly (readonly [name: string, useStores: () => Stores])[] = [
  ['SQLite', useSqliteStores],
  ['PostgreSQL', usePostgresStores],
]

/** For `describe.each`. `npm test` plays what it plays of these tests on SQLite. */
export const engines = isQuick ? all.slice(0, 1) : all
