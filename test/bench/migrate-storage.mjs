/** The storages of the benchmark of migrations, and both configurations. */
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'

const text = { type: 'string' }

const configOf = (more) => ({
  collections: {
    articles: {
      schema: { title: text, n: { type: 'integer', index: true }, body: text, ...more },
      permissions: { '*': true },
    },
  },
})

export const BEFORE = configOf({})
export const AFTER = configOf({ lang: { ...text, required: true, fill: 'en' } })

/** Creates an adapter; `place` is a file, or a schema. */
export const connect = (kind, place) =>
  kind === 'sqlite'
    ? createSqliteAdapter({ file: place })
    : createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: place })
