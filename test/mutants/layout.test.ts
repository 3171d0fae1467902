import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as PostgresLayout from '../../src/adapters/postgres/layout.js'
import type * as PostgresAdapter from '../../src/adapters/postgres/postgres-adapter.js'
import { LAYOUT_LAWS } from '../support/layout-laws.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { choose } from './choose.js'
import { fails, loadMutant } from './create-mutant.js'

/** Adapters that name the tables of a schema in a wrong way. */

const LAYOUT = '../../src/adapters/postgres/layout.js'

type Real = typeof PostgresLayout
type Law = keyof typeof LAYOUT_LAWS
type Case = readonly [what: string, law: Law, change: (real: Real) => Partial<Real>]

const postgres = usePostgres()
let client: pg.Client
beforeAll(async () => {
  client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
})
afterAll(() => client.end())

async function check(law: Law, change: (real: Real) => Partial<Real>): Promise<void> {
  const { createPostgresAdapter } = await loadMutant<typeof PostgresAdapter>(
    [
      law,
      LAYOUT,
      async (original) => {
        const real = (await original()) as Real
        return { ...real, ...change(real) }
      },
    ],
    () => import('../../src/adapters/postgres/postgres-adapter.js'),
  )
  const schema = newSchema()
  const opened: ReturnType<typeof createPostgresAdapter>[] = []
  const connect = (migrate = true) => {
    const adapter = createPostgresAdapter({ connectionString: postgres.url, schema, migrate })
    opened.push(adapter)
    return adapter
  }
  try {
    await LAYOUT_LAWS[law]({ client, schema, connect })
  } finally {
    await client.query('ROLLBACK')
    for (const adapter of opened) await adapter.close()
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  }
}

/** Changes the layout of new schemas. */
const rename =
  (change: (collection: string) => string) =>
  ({ LAYOUT }: Real): Partial<Real> => {
    Object.assign(LAYOUT, { tableNameOf: change })
    return {}
  }

const mutants: readonly Case[] = [
  [
    'new schemas have other names than SQLite',
    'a new schema has the tables that a file of SQLite has',
    rename((name) => `d_${name}`),
  ],
  [
    'names that differ by case share a table',
    'each collection of a new schema has a table of its own',
    rename((name) => `c_${name.toLowerCase()}`),
  ],
  [
    'long names are cut',
    'names that are too long for PostgreSQL stay apart',
    rename((name) => `c_${name}`.slice(0, 63)),
  ],
  [
    'former schemas are overlooked',
    'a schema of version 0.2 keeps its names, documents and uniqueness',
    ({ LAYOUT }) => ({ readLayout: async () => ({ layout: LAYOUT, isRecorded: true }) }),
  ],
  [
    'the layout is decided before the lock is held',
    'starts that wait for one of version 0.2 use its layout',
    ({ readLayout }) => {
      const decided = new Map<string, ReturnType<Real['readLayout']>>()
      return {
        readLayout(run, schema, names) {
          const layout = decided.get(schema) ?? readLayout(run, schema, names)
          decided.set(schema, layout)
          return layout
        },
      }
    },
  ],
  [
    'former versions open new schemas',
    'a version up to 0.2 fails in a new schema, before it creates a table',
    ({ LAYOUT }) => {
      Object.assign(LAYOUT, { owner: 'collection' })
      return {}
    },
  ],
  [
    'a lost record is overlooked',
    'a former table whose record is lost is named, and nothing starts empty',
    ({ LAYOUT, readLayout }) => ({
      async readLayout(run, schema) {
        return { ...(await readLayout(run, schema, [])), layout: LAYOUT }
      },
    }),
  ],
]

test.each(Object.keys(LAYOUT_LAWS) as Law[])('sound: %s', (law) => check(law, () => ({})))

test.each(choose(mutants, () => LAYOUT))('%s: noticed', async (_, law, change) => {
  expect(await fails(check(law, change))).toBe(true)
})
