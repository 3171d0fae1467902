import { ConfigError } from '../../../core/errors.js'
import { messageOf, textOf } from '../../sql/faults.js'
import { loadBetterSqlite } from './better-sqlite3.js'
import { loadBunSqlite } from './bun-sqlite.js'
import type { DriverName, SqliteDriver } from './driver.js'
import { loadNodeSqlite } from './node-sqlite.js'
import { LEAST } from './sound.js'

/** How each driver is loaded, in the order in which they are tried. */
const LOADERS: { readonly [name in DriverName]: () => SqliteDriver | Promise<SqliteDriver> } = {
  'bun:sqlite': loadBunSqlite,
  'better-sqlite3': loadBetterSqlite,
  'node:sqlite': loadNodeSqlite,
}

/** The names of all drivers, in the order in which they are tried. */
export const DRIVERS = Object.keys(LOADERS) as readonly DriverName[]

/** The drivers that this process has loaded, by the name that was asked for. */
const loaded = new Map<DriverName | undefined, SqliteDriver>()

/**
 * Loads the driver with a name or, without a name, the first one that can be loaded. Rejects with `ConfigError` if there
 * is none.
 */
export async function loadDriver(name?: DriverName): Promise<SqliteDriver> {
  const known = loaded.get(name)
  if (known) return known
  const reasons: string[] = []
  for (const tried of name === undefined ? DRIVERS : [name]) {
    try {
      const driver = await LOADERS[tried]()
      loaded.set(name, driver)
      return driver
    } catch (thrown) {
      reasons.push(`${tried}: ${reasonOf(thrown)}`)
    }
  }
  const message = `no SQLite library can be loaded; install the package better-sqlite3 (npm install better-sqlite3), or use a runtime that has a library with SQLite ${LEAST} or later (Node 24, Deno or Bun, each in its latest version). ${reasons.join('. ')}`
  throw new ConfigError([{ path: 'driver', message }])
}

const reasonOf = (thrown: unknown): string =>
  /MODULE_NOT_FOUND$/.test(textOf(thrown, 'code'))
    ? 'is not installed'
    : messageOf(thrown).replace(/\s+/g, ' ')
