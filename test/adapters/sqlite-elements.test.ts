import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import { STRUCTURES } from '../../src/adapters/sql/dialect.js'
import { isOfElements, structuresOf } from '../../src/adapters/sql/structures.js'
import { choosePath, readIndexesOf } from '../../src/adapters/sqlite/read/read-path.js'
import {
  countAllStatement,
  countStatement,
  idsStatement,
  pageStatement,
  soughtStatement,
  walkStatement,
} from '../../src/adapters/sqlite/read/read-statements.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { sqliteDialect } from '../../src/adapters/sqlite/sqlite-dialect.js'
import { compileField, holdsType } from '../../src/core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, isId, or, type Scalar } from '../../src/core/filter/filter.js'
import { compilePath, isObject } from '../../src/core/json/own-properties.js'
import type { CollectionPlan, StorageAdapter, StoredDocument, WriteStep } from '../../src/core/storage.js'
import type { JsonObject } from '../../src/core/types.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { seedOf } from '../support/tier.js'

// CONTRACT.md §6, "Speed", §7, "Storage": the entries of indexes over the elements of arrays.

const field = (path: string, type: FieldRef['type']): FieldRef => ({ path, type, each: false })
const tags: FieldRef = { path: 'tags', type: 'string', each: true }
const [at, team] = [field('at', 'timestamp'), field('team', 'string')]
const members: FieldRef = { path: 'box.members', type: 'integer', each: true, inside: 'of.n' }

const plan: CollectionPlan = {
  name: 'things',
  indexes: [[tags, at], [team, tags, at], [members]].map((fields) => ({ fields, unique: false })),
}
const bare: CollectionPlan = { name: 'things', indexes: [] }

const tables = structuresOf([plan], sqliteDialect).filter(isOfElements)

const folder = mkdtempSync(join(tmpdir(), 'collection-service-elements-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = (): string => {
  files += 1
  return join(folder, `${files}.db`)
}

/** Reads or changes a file by hand. */
function inFile<T>(file: string, work: (database: Database.Database) => T): T {
  const database = new Database(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

async function useAdapter<T>(
  file: string,
  plans: readonly CollectionPlan[],
  work: (adapter: StorageAdapter) => Promise<T>,
): Promise<T> {
  const adapter = createSqliteAdapter({ file })
  await adapter.open(plans)
  try {
    return await work(adapter)
  } finally {
    await adapter.close()
  }
}

/** The entries that an index over elements has to have. */
function entriesOf(fields: readonly FieldRef[], documents: readonly StoredDocument[]): readonly string[] {
  const each = fields.find((one) => one.each) ?? tags
  const readInside = compilePath(each.inside ?? '')
  const readAll = compilePath(each.path)
  const entries = documents.flatMap((document) => {
    const array = readAll(document)
    if (!Array.isArray(array)) return []
    const values = array.map((one: unknown) =>
      each.inside === undefined ? one : isObject(one) ? readInside(one) : undefined,
    )
    return [...new Set(values.filter(holdsType(each.type)))].map((element) =>
      JSON.stringify([
        ...fields.map((one) => (one.each ? element : (compileField(one)(document) ?? null))),
        document._id,
      ]),
    )
  })
  return entries.sort()
}

/** All entries are there, once, and no others. */
function expectExact(file: string): void {
  inFile(file, (database) => {
    const documents = database
      .prepare<unknown[], string>('SELECT document FROM c_things')
      .pluck()
      .all()
      .map((text) => JSON.parse(text) as StoredDocument)
    for (const { name, fields } of tables) {
      const rows = database.prepare(`SELECT * FROM "${name}"`).raw().all()
      expect(rows.map((row) => JSON.stringify(row)).sort()).toEqual(entriesOf(fields, documents))
    }
  })
}

const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', 'later', 7, null]
const TEXTS = ['x', 'y', 'ü', '', '["x"]', '{"of":{"n":1}}', 1, null, ['x'], { x: 'y' }]

/** A document with arrays of all kinds: elements twice, of another type, and no array at all. */
function draw(seed: number, id: string, version = 1): StoredDocument {
  const random = createRandom(seedOf(seed))
  const some = <T>(values: readonly T[]): readonly T[] =>
    Array.from({ length: random.integer(0, 4) }, () => random.pick(values))
  const fields: JsonObject = {
    tags: random.pick([some(TEXTS), some(TEXTS), '["x"]', { x: 'x' }, null, 'x']),
    at: random.pick(TIMES),
    team: random.pick(['a', 'b', 3, null]),
    box: random.pick([
      { members: some([{ of: { n: 1 } }, { of: { n: 2.5 } }, { of: { n: '3' } }, { of: 4 }, 5, '{}']) },
      { members: { of: { n: 1 } } },
      [],
    ]),
  }
  const kept = Object.entries(fields).filter(([, value]) => value !== null || random.chance(0.5))
  return { _id: id, _version: version, ...Object.fromEntries(kept) }
}

const insertAll = (adapter: StorageAdapter, size: number): Promise<unknown> =>
  Promise.resolve(
    adapter.write(
      Array.from({ length: size }, (_, i) => ({ in: 'things', insert: draw(i, `id-${i}`) })),
      {},
    ),
  )

const eq = (ref: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field: ref, value })

describe('the entries of an index over elements', () => {
  test.each([true, false])(
    'are those of the documents after every write (indexed by the writer: %s)',
    async (isIndexed) => {
      const file = newFile()
      await useAdapter(file, [plan], async () => {})
      const random = createRandom(seedOf(1))
      const versions = new Map<string, number>()
      await useAdapter(file, [isIndexed ? plan : bare], async (adapter) => {
        for (let round = 0; round < 60; round++) {
          const steps = Array.from({ length: random.integer(1, 6) }, (_, i): WriteStep => {
            const id = `id-${random.integer(0, 30)}`
            const version = versions.get(id)
            const seed = round * 10 + i
            if (version === undefined) {
              versions.set(id, 1)
              return { in: 'things', insert: draw(seed, id) }
            }
            if (random.chance(0.2)) {
              versions.delete(id)
              return { in: 'things', remove: isId(id) }
            }
            versions.set(id, version + 1)
            return { in: 'things', replace: draw(seed, id, version + 1), version }
          })
          const { ok } = await adapter.write(steps, {})
          expect(ok).toBe(true)
          const refused = { in: 'things', require: 'nothing has this id' }
          expect(await adapter.write([...steps.slice(0, 1), refused], {})).toMatchObject({ ok: false })
          if (round % 10 === 9) expectExact(file)
        }
        const removed = await adapter.write(
          [{ in: 'things', remove: or([eq(tags, 'x'), eq(members, 1)]) }],
          {},
        )
        expect(removed).toMatchObject({ ok: true })
      })
      expectExact(file)
    },
  )

  const [first, second] = [TIMES[0] ?? '', TIMES[1] ?? '']
  test.each<[what: string, before: JsonObject, after: JsonObject]>([
    ['an element more', { tags: ['x'], at: first }, { tags: ['x', 'y'], at: first }],
    ['an element less', { tags: ['x', 'y'], at: first }, { tags: ['y'], at: first }],
    ['the same elements in another order', { tags: ['x', 'y', 'x'] }, { tags: ['y', 'x'] }],
    ['another column', { tags: ['x', 'y'], at: first }, { tags: ['x', 'y'], at: second }],
    ['a column that is missing', { tags: ['x'], at: first }, { tags: ['x'] }],
    ['a column of another type', { tags: ['x'], at: first }, { tags: ['x'], at: 5 }],
    ['a text that reads like the array', { tags: ['x'] }, { tags: '["x"]' }],
    ['an array in place of such a text', { tags: '["x"]' }, { tags: ['x'] }],
    ['no array', { tags: ['x'], box: { members: [{ of: { n: 1 } }] } }, {}],
    ['none of them', { tags: ['x'], at: first, note: 1 }, { tags: ['x'], at: first, note: 2 }],
  ])('follow %s', async (_, before, after) => {
    const file = newFile()
    await useAdapter(file, [plan], async (adapter) => {
      await adapter.write([{ in: 'things', insert: { _id: 'a', _version: 1, ...before } }], {})
      expectExact(file)
      const replace = { _id: 'a', _version: 2, ...after }
      expect(await adapter.write([{ in: 'things', replace, version: 1 }], {})).toMatchObject({ ok: true })
    })
    expectExact(file)
  })

  test('follow what is written by hand', async () => {
    const file = newFile()
    await useAdapter(file, [plan], (adapter) => insertAll(adapter, 50))
    const text = JSON.stringify({ ...draw(99, 'id-7'), tags: ['by hand'] })
    for (const statement of [
      `INSERT OR REPLACE INTO c_things (_id, document) VALUES ('id-7', '${text}')`,
      `REPLACE INTO c_things SELECT _id, json_set(document, '$.tags', json('["z"]')) FROM c_things WHERE rowid % 2 = 0`,
      `UPDATE c_things SET document = json_set(document, '$.tags', json('["y", "ü"]')) WHERE rowid % 3 = 0`,
      `UPDATE c_things SET _id = 'n' || _id, document = json_set(document, '$._id', 'n' || _id)`,
      'DELETE FROM c_things WHERE rowid % 5 = 0',
      'DELETE FROM c_things',
    ]) {
      inFile(file, (database) => database.exec(statement))
      expectExact(file)
    }
  })
})

/** What a file has beside its documents. */
const schemaOf = (file: string): readonly unknown[] =>
  inFile(file, (database) => [
    ...database.prepare('SELECT type, name FROM sqlite_schema ORDER BY name').raw().all(),
    ...database.prepare(`SELECT name FROM ${STRUCTURES} ORDER BY name`).raw().all(),
  ])

describe('the building over stored documents', () => {
  const createFilled = async (): Promise<string> => {
    const file = newFile()
    await useAdapter(file, [bare], (adapter) => insertAll(adapter, 300))
    return file
  }
  const open = (file: string): Promise<unknown> => useAdapter(file, [plan], async () => {})

  test('has an entry for each', async () => {
    const file = await createFilled()
    await open(file)
    expectExact(file)
    const before = schemaOf(file)
    await open(file)
    expect(schemaOf(file)).toEqual(before)
  })

  test('is done once by several that start together', async () => {
    const file = await createFilled()
    const starts = Array.from({ length: 4 }, () =>
      useAdapter(file, [plan], (adapter) => Promise.resolve(adapter.count('things', eq(tags, 'x'), {}))),
    )
    expect(new Set(await Promise.all(starts)).size).toBe(1)
    expectExact(file)
  })

  const statements = structuresOf([plan], sqliteDialect)
    .flatMap(({ sql }) => sql)
    .slice(1)

  test('leaves nothing where its process is killed in the middle, and is done by the next start', async () => {
    const script = `
      const database = new (require(process.argv[1]))(process.argv[2])
      const statements = JSON.parse(process.argv[3])
      database.exec('BEGIN IMMEDIATE')
      for (const statement of statements) database.exec(statement)
      process.kill(process.pid, 'SIGKILL')`
    const driver = createRequire(import.meta.url).resolve('better-sqlite3')
    const file = await createFilled()
    const before = schemaOf(file)
    // One table whole, and another one with its entries.
    for (const size of [2, 8]) {
      const args = ['-e', script, driver, file, JSON.stringify(statements.slice(0, size))]
      const { signal } = spawnSync(process.execPath, args)
      expect(signal).toBe('SIGKILL')
      expect(schemaOf(file)).toEqual(before)
    }
    await open(file)
    expectExact(file)
  })

  test.each(statements)('leaves nothing where it fails at %s', async (failing) => {
    const file = await createFilled()
    const before = schemaOf(file)
    const { prepare } = Database.prototype
    Database.prototype.prepare = function (this: Database.Database, text: string) {
      if (text === failing)
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      return prepare.call(this, text)
    } as typeof prepare
    const failed = open(file)
    await expect(failed.finally(() => (Database.prototype.prepare = prepare))).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    expect(schemaOf(file)).toEqual(before)
    await open(file)
    expectExact(file)
  })

  test.each([true, false])(
    'is done again where a table was dropped with its line (and its triggers: %s)',
    async (isWhole) => {
      const file = await createFilled()
      await open(file)
      inFile(file, (database) => {
        for (const { name } of tables.slice(0, 1)) {
          database.exec(`DROP TABLE "${name}"`)
          database.prepare(`DELETE FROM ${STRUCTURES} WHERE name = ?`).run(name)
          if (isWhole)
            for (const kind of ['INSERT', 'UPDATE', 'DELETE']) database.exec(`DROP TRIGGER "${name}_${kind}"`)
        }
      })
      await useAdapter(file, [plan], (adapter) =>
        Promise.resolve(adapter.write([{ in: 'things', insert: draw(5, 'another') }], {})),
      )
      expectExact(file)
    },
  )

  test('is not done again in a backup', async () => {
    const file = await createFilled()
    await open(file)
    const backup = newFile()
    inFile(file, (database) => database.prepare('VACUUM INTO ?').run(backup))
    const before = schemaOf(backup)
    expect(before).toEqual(schemaOf(file))
    const count = (where: string): Promise<number> =>
      useAdapter(where, [plan], (adapter) => Promise.resolve(adapter.count('things', eq(tags, 'x'), {})))
    expect(await count(backup)).toBe(await count(file))
    await useAdapter(backup, [plan], (adapter) =>
      Promise.resolve(adapter.write([{ in: 'things', insert: draw(5, 'another') }], {})),
    )
    expectExact(backup)
    expect(schemaOf(backup)).toEqual(before)
  })

  test('adds nothing to a collection without arrays', async () => {
    const file = newFile()
    await useAdapter(file, [{ name: 'things', indexes: [{ fields: [team], unique: false }] }], async () => {})
    expect(schemaOf(file).filter((row) => /trigger|_elements_/.test(String(row)))).toEqual([])
  })
})

describe('the plans of reads by elements', () => {
  const database = new Database(':memory:')
  afterAll(() => void database.close())
  for (const { sql } of structuresOf([plan], sqliteDialect)) for (const one of sql) database.exec(one)
  const insert = database.prepare('INSERT INTO c_things (_id, document) VALUES (?, ?)')
  for (let i = 0; i < 2000; i++) insert.run(`id-${i}`, JSON.stringify(draw(i, `id-${i}`)))
  database.exec('ANALYZE')

  const indexes = readIndexesOf(plan)
  const newest = [at, ID].map((one) => ({ field: one, descending: true }))
  const [x, y, inTeam] = [eq(tags, 'x'), eq(tags, 'y'), eq(team, 'a')]
  const many = or(Array.from({ length: 200 }, (_, i) => eq(members, i)))

  const stepsOf = ({ text }: { readonly text: string }): string => {
    const rows = database.prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
    const values = Array.from(text.matchAll(/\?/g), () => 1)
    return rows
      .all(...values)
      .map(({ detail }) => detail)
      .join('\n')
  }

  test.each<[what: string, filter: Filter, isOrdered: boolean]>([
    ['an element', x, true],
    ['an element behind another field', and([inTeam, x]), true],
    ['an element and a range', and([x, { kind: 'gte', field: at, value: '2026' }]), true],
    ['several elements', or([x, y]), true],
    ['an element or a value', or([and([inTeam, y]), x]), true],
    ['an element inside objects', eq(members, 1), false],
    ['many elements', many, false],
  ])('%s is found in its order, and documents only where they are read', (_, filter, isOrdered) => {
    const sort = isOrdered ? newest : []
    const path = choosePath(indexes, { filter, sort, limit: 20 }, () => 0)
    expect(path).toMatchObject({ rest: [], isOrdered: true })
    const asked = () => ({ conditions: [] })
    const page = { skip: 0, limit: 20 }
    const reading = [
      walkStatement('things', path, asked, 'document'),
      ...(path.ranges ? [] : [pageStatement('things', path, { ...page, cap: 1000 })]),
    ]
    const alone = [idsStatement('things', path, page), countStatement('things', path, 1000)]
    const counted = [countAllStatement('things', path), soughtStatement('things', path)]
    for (const statement of [...reading, ...alone, ...counted]) {
      const steps = stepsOf(statement)
      expect(steps).toMatch(/SEARCH _elements_\w+ USING COVERING INDEX _elements_\w+_order \(c0=\?/)
      expect(steps).not.toMatch(/SCAN (?:c|_elements)_/)
    }
    for (const statement of reading) {
      expect(stepsOf(statement)).toMatch(/SEARCH c_things USING INDEX sqlite_autoindex_c_things_1 \(_id=\?\)/)
      expect(stepsOf(statement)).not.toMatch(/TEMP B-TREE FOR ORDER/)
    }
    for (const statement of alone) expect(stepsOf(statement)).not.toMatch(/c_things|TEMP B-TREE FOR ORDER/)
    expect(stepsOf({ text: soughtStatement('things', path).text })).not.toMatch(/c_things|TEMP B-TREE/)
  })

  test('what elements alone do not answer reads no table of them', () => {
    const others: readonly Filter[] = [
      { kind: 'gt', field: tags, value: 'x' },
      { kind: 'not', filter: x },
      { kind: 'present', field: tags },
      { kind: 'eq', field: { ...tags, type: 'integer' }, value: 1 },
      { kind: 'eq', field: { ...members, inside: 'of' }, value: 1 },
      inTeam,
    ]
    for (const filter of others)
      expect(choosePath(indexes, { filter, sort: newest, limit: 20 }, () => 0)).toMatchObject({ index: null })
  })
})
