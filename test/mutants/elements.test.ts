import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type * as PostgresElements from '../../src/adapters/postgres/elements.js'
import type * as PostgresAdapter from '../../src/adapters/postgres/postgres-adapter.js'
import type * as SqliteElements from '../../src/adapters/sqlite/elements.js'
import type * as SqliteAdapter from '../../src/adapters/sqlite/sqlite-adapter.js'
import { adapterCases, runCase, type TestStorage } from '../../src/tools/testing/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Tables of elements of arrays whose statements are broken on purpose: the cases of the kit have to notice each of them. */

const postgres = usePostgres()

/** The same statements, each with its text changed, or left out. */
type Break = (text: string) => string | undefined

const breakAll = (texts: readonly string[], change: Break): readonly string[] =>
  texts.flatMap((text) => change(text) ?? [])

/** A part of a text is another; the mutant says nothing where no text has that part. */
const replace =
  (part: string | RegExp, by: string): Break =>
  (text) =>
    text.replace(part, by)

const leaveOut =
  (beginning: RegExp): Break =>
  (text) =>
    beginning.test(text) ? undefined : text

const SQLITE = '../../src/adapters/sqlite/elements.js'
const POSTGRES = '../../src/adapters/postgres/elements.js'

type Case = readonly [what: string, change: Break]

const inSqlite = (what: string, change: Break): Mutant => [
  what,
  SQLITE,
  async (original) => {
    const real = (await original()) as typeof SqliteElements
    const createElements: typeof real.createElements = (index) => breakAll(real.createElements(index), change)
    return { ...real, createElements }
  },
]

const inPostgres = (what: string, change: Break): Mutant => [
  what,
  POSTGRES,
  async (original) => {
    const real = (await original()) as typeof PostgresElements
    const createElements: typeof real.createElements = (...given) => {
      const sql = real.createElements(...given)
      const [fill = '', fillSome = ''] = [change(sql.fill), change(sql.fillSome)]
      return { ...sql, create: breakAll(sql.create, change), fill, fillSome }
    }
    return { ...real, createElements }
  },
]

async function runOnSqlite(mutant: Mutant): Promise<void> {
  const { createSqliteAdapter } = await loadMutant<typeof SqliteAdapter>(
    mutant,
    () => import('../../src/adapters/sqlite/sqlite-adapter.js'),
  )
  await runElements(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'collection-service-mutants-'))
    return {
      connect: () => createSqliteAdapter({ file: join(folder, 'data.db') }),
      destroy: async () => rmSync(folder, { recursive: true }),
    }
  })
}

async function runOnPostgres(mutant: Mutant): Promise<void> {
  const { createPostgresAdapter } = await loadMutant<typeof PostgresAdapter>(
    mutant,
    () => import('../../src/adapters/postgres/postgres-adapter.js'),
  )
  await runElements(async () => {
    const schema = newSchema()
    return { connect: () => createPostgresAdapter({ connectionString: postgres.url, schema }) }
  })
}

/** The cases in which documents change, or were there before. */
async function runElements(createStorage: () => Promise<TestStorage>): Promise<void> {
  const names = /^elements: (an index that comes later|follow)/
  const cases = adapterCases.filter(({ name }) => names.test(name))
  expect(cases.length).toBe(3)
  for (const one of cases) await runCase(one, createStorage)
}

const sound: Break = (text) => text

describe('on SQLite', () => {
  test('sound statements pass', async () => {
    expect(await fails(runOnSqlite(inSqlite('nothing is broken', sound)))).toBe(false)
  })

  test.each(
    choose<Case>(
      [
        ['documents that are there have no entries', leaveOut(/^INSERT/)],
        ['new documents have none', leaveOut(/^CREATE TRIGGER .*AFTER INSERT/)],
        ['entries stay as they were', leaveOut(/^CREATE TRIGGER .*AFTER UPDATE/)],
        ['those of removed documents stay', leaveOut(/^CREATE TRIGGER .*AFTER DELETE/)],
        [
          'those of former elements stay',
          replace(/ AND \(OLD\._id IS NOT NEW\._id OR .* NOT IN /, ' AND 0 AND (c0 IN '),
        ],
        ['another column stays as it was', replace(/DO UPDATE SET .* WHERE .*; END$/, 'DO NOTHING; END')],
        [
          'a change of another column is overlooked',
          replace(
            / WHEN .* BEGIN/,
            " WHEN (OLD.document -> '$.tags') IS NOT (NEW.document -> '$.tags') BEGIN",
          ),
        ],
      ],
      () => SQLITE,
    ),
  )('%s: noticed', async (what, change) => {
    expect(await fails(runOnSqlite(inSqlite(what, change)))).toBe(true)
  })
})

describe('on PostgreSQL', () => {
  test('sound statements pass', async () => {
    expect(await fails(runOnPostgres(inPostgres('nothing is broken', sound)))).toBe(false)
  })

  test.each(
    choose<Case>(
      [
        [
          'documents that are there have no entries',
          (text) => (text.startsWith('INSERT') ? text.replace('WHERE ', 'WHERE FALSE AND ') : text),
        ],
        [
          'new documents have none',
          replace("TG_OP = ''INSERT'' THEN", "TG_OP = ''INSERT'' THEN RETURN NULL;"),
        ],
        ['entries stay as they were', replace(/ELSE DELETE FROM/, 'ELSE RETURN NULL; DELETE FROM')],
        [
          'those of removed documents stay',
          replace("TG_OP = ''DELETE'' THEN", "TG_OP = ''DELETE'' THEN RETURN NULL;"),
        ],
        [
          'those of former elements stay',
          replace(' = OLD._id AND NOT EXISTS', ' = OLD._id AND FALSE AND NOT EXISTS'),
        ],
        ['an element twice has two entries', replace('SELECT DISTINCT', 'SELECT')],
        [
          'a change of another column is overlooked',
          replace(
            / WHEN \(.*\) EXECUTE/,
            " WHEN ((OLD.document -> 'tags') IS DISTINCT FROM (NEW.document -> 'tags')) EXECUTE",
          ),
        ],
      ],
      () => POSTGRES,
    ),
  )('%s: noticed', async (what, change) => {
    expect(await fails(runOnPostgres(inPostgres(what, change)))).toBe(true)
  })
})
