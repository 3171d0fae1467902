import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { usePostgres } from './postgres.js'

/** Settings of a database that change how values are written and read, where names are looked up, and what others hear. */
const HOSTILE: { readonly [setting: string]: string } = {
  array_nulls: 'off',
  bytea_output: 'escape',
  DateStyle: 'SQL, DMY',
  default_transaction_deferrable: 'on',
  escape_string_warning: 'on',
  extra_float_digits: '-15',
  IntervalStyle: 'sql_standard',
  lc_monetary: 'C',
  plan_cache_mode: 'force_generic_plan',
  quote_all_identifiers: 'on',
  row_security: 'off',
  standard_conforming_strings: 'off',
  synchronize_seqscans: 'on',
  TimeZone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
}

/** What is found first where a name is looked up without its schema: nothing that the adapter means. */
const DECOYS = [
  'CREATE SCHEMA decoys',
  ...['_structures', '_structures_lease', '_log', '_log_head', 'c_things'].map(
    (name) => `CREATE VIEW decoys.${name} AS SELECT 1 AS decoy`,
  ),
]

/** A database with hostile settings, and the isolation that transactions have by default. */
export function useHostileDatabase(name: string, isolation: string): { readonly url: string } {
  const postgres = usePostgres()
  const database = `${name}_${process.pid}`
  const ask = async (url: string, statements: readonly string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }
  const urlOf = (): string => {
    const url = new URL(postgres.url)
    url.pathname = `/${database}`
    return url.href
  }
  beforeAll(async () => {
    await ask(postgres.url, [`CREATE DATABASE ${database}`])
    const all = { ...HOSTILE, default_transaction_isolation: isolation }
    const settings = Object.entries(all).map(
      ([setting, value]) => `ALTER DATABASE ${database} SET ${setting} = '${value}'`,
    )
    await ask(urlOf(), [
      ...DECOYS,
      ...settings,
      `ALTER DATABASE ${database} SET search_path = decoys, public`,
    ])
  })
  afterAll(() => ask(postgres.url, [`DROP DATABASE ${database} WITH (FORCE)`]))
  return {
    get url() {
      return urlOf()
    },
  }
}
