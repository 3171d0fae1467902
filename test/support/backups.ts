import { copyFile } from 'node:fs/promises'
import pg from 'pg'

/** Copies a storage that no adapter has open; the result puts the copy in place of it. */
export type BackUp = () => Promise<() => Promise<void>>

/** Backs up a file of SQLite: when the last one closes it, its log is in it. */
export const backUpFile =
  (file: string): BackUp =>
  async () => {
    await copyFile(file, `${file}.backup`)
    return () => copyFile(`${file}.backup`, file)
  }

/** Backs up a schema of PostgreSQL, as a dump of its rows and sequences would be. */
export const backUpSchema =
  (connectionString: string, schema: string): BackUp =>
  async () => {
    const run = async (text: string): Promise<readonly { readonly [name: string]: unknown }[]> => {
      const client = new pg.Client({ connectionString })
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    }
    const found = await run(`SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}'`)
    const tables = found.map(({ name }) => `"${name}"`)
    const copies = tables.map((name) => `CREATE TABLE ${schema}_backup.${name} AS TABLE ${schema}.${name}`)
    await run([`CREATE SCHEMA ${schema}_backup`, ...copies].join(';'))
    const [{ next = 1 } = {}] = await run(`SELECT coalesce(max(seq), 0) + 1 AS next FROM ${schema}._log`)
    return async () => {
      const filled = tables.map(
        (name) => `INSERT INTO ${schema}.${name} OVERRIDING SYSTEM VALUE TABLE ${schema}_backup.${name}`,
      )
      await run(
        [
          `TRUNCATE ${tables.map((name) => `${schema}.${name}`).join(', ')}`,
          ...filled,
          `ALTER TABLE ${schema}._log ALTER seq RESTART WITH ${next}`,
          `DROP SCHEMA ${schema}_backup CASCADE`,
        ].join(';'),
      )
    }
  }
