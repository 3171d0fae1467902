import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { PostgresPool } from '../../src/adapters/postgres/connection/pool.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createPostgresEngine } from '../../src/adapters/postgres/postgres-engine.js'
import { mergeRanges } from '../../src/adapters/postgres/read/merge-ranges.js'
import type { Statement } from '../../src/adapters/sql/dialect.js'
import { compileDocumentOrder } from '../../src/core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, not, or, type Scalar } from '../../src/core/filter/filter.js'
import { compileFilter } from '../../src/core/filter/matches.js'
import type {
  CollectionPlan,
  IndexPlan,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteStep,
} from '../../src/core/storage.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { seedOf } from '../support/tier.js'
import { until } from '../support/until.js'

// CONTRACT.md §6, "Speed", §7, "Storage", §10, "Starting"

const postgres = usePostgres()
let client: pg.Client
let schema: string
let opened: StorageAdapter[]

beforeAll(async () => {
  client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
})
afterAll(() => client.end())
beforeEach(() => {
  schema = newSchema()
  opened = []
})
afterEach(async () => {
  for (const adapter of opened) await adapter.close()
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
})

const connect = (migrate = true): StorageAdapter => {
  const adapter = createPostgresAdapter({ connectionString: postgres.url, schema, migrate })
  opened.push(adapter)
  return adapter
}

const ref = (path: string, type: FieldRef['type'] = 'string'): FieldRef => ({ path, type, each: false })
const each = (path: string, type: FieldRef['type'] = 'string', inside?: string): FieldRef => ({
  path,
  type,
  each: true,
  ...(inside === undefined ? {} : { inside }),
})
const f = {
  team: ref('team'),
  at: ref('at', 'timestamp'),
  n: ref('n', 'integer'),
  tags: each('tags'),
  marks: each('marks', 'number'),
  flags: each('flags', 'boolean'),
  owners: each('parts', 'string', 'owner'),
}
const index = (...fields: readonly FieldRef[]): IndexPlan => ({ fields, unique: false })
const planOf = (...indexes: readonly IndexPlan[]): readonly CollectionPlan[] => [{ name: 'things', indexes }]
const plans = planOf(
  index(f.tags, f.at),
  index(f.tags),
  index(f.team, f.tags, f.n),
  index(f.marks),
  index(f.n, f.flags),
  index(f.owners),
  index(f.team, f.at),
)

const eq = (field: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field, value })
const isOneOf = (field: FieldRef, ...values: readonly Scalar[]): Filter =>
  or(values.map((value) => eq(field, value)))

/** Numbers that look random and are the same each time. */
function createDraw(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * below)
  }
}

type Draw = (below: number) => number
const pick = <T>(draw: Draw, some: readonly T[]): T => some[draw(some.length)] as T
const TAGS = ['a', 'b', 'c', '', 'Ä', "o'x", '\\', '1'] as const

function drawDocument(draw: Draw, id: number): StoredDocument {
  const list = <T>(one: () => T): readonly T[] => Array.from({ length: draw(4) }, one)
  const odd = (): unknown => pick(draw, [null, 1, 'a', { a: 1 }, ['a'], 1.5, true])
  const tag = (): unknown => (draw(8) === 0 ? odd() : pick(draw, TAGS))
  const document: Record<string, unknown> = {
    _id: `id${String(id).padStart(3, '0')}`,
    _version: draw(1000),
    tags: draw(12) === 0 ? odd() : list(tag),
    marks: list(() => (draw(5) === 0 ? odd() : pick(draw, [0, 1, 1.5, -2]))),
    flags: list(() => pick(draw, [true, false, 'true'])),
    parts: list(() => (draw(6) === 0 ? odd() : { owner: draw(6) === 0 ? odd() : pick(draw, TAGS) })),
    team: pick(draw, ['x', 'y', null, 3]),
    at: draw(6) === 0 ? odd() : new Date(Date.UTC(2026, 0, 1 + draw(9))).toISOString(),
    n: draw(6) === 0 ? odd() : draw(4),
  }
  for (const name of ['tags', 'team', 'at', 'n', 'parts']) if (draw(9) === 0) delete document[name]
  return document as StoredDocument
}

function drawCondition(draw: Draw): Filter {
  const tag = (): Scalar => pick(draw, TAGS)
  switch (draw(12)) {
    case 0:
    case 1:
    case 2:
      return eq(f.tags, tag())
    case 3:
      return isOneOf(f.tags, tag(), tag(), tag())
    case 4:
      return eq(f.team, pick(draw, ['x', 'y']))
    case 5:
      return eq(f.owners, tag())
    case 6:
      return isOneOf(f.marks, 0, 1.5)
    case 7:
      return eq(f.flags, draw(2) === 0)
    case 8:
      return {
        kind: pick(draw, ['lt', 'gte', 'gt'] as const),
        field: f.at,
        value: '2026-01-05T00:00:00.000Z',
      }
    case 9:
      return isOneOf(f.n, 0, 2)
    case 10:
      return pick(draw, [
        not(eq(f.tags, tag())),
        not({ kind: 'present', field: f.n }),
        { kind: 'present', field: f.at },
        { kind: 'lt', field: f.tags, value: 'b' },
        eq(ID, `id00${draw(10)}`),
        { kind: 'gt', field: ID, value: 'id030' },
      ] as const)
    default:
      return or([drawCondition(draw), and([drawCondition(draw), drawCondition(draw)])])
  }
}

const SORTS: readonly (readonly SortKey[])[] = [
  [],
  [{ field: ID, descending: false }],
  [
    { field: f.at, descending: true },
    { field: ID, descending: true },
  ],
  [
    { field: f.n, descending: false },
    { field: ID, descending: false },
  ],
  [
    { field: f.team, descending: true },
    { field: f.at, descending: true },
    { field: ID, descending: true },
  ],
]

/** The tables of elements. */
const findTables = async (): Promise<readonly string[]> =>
  (
    await client.query(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relkind = 'r' AND starts_with(relname::text, '_elements_')`,
    )
  ).rows.map(({ name }) => name)

/** The entries of one table: those of `tags`, as `[tag, _id]`, in order. */
const readEntries = async (): Promise<readonly unknown[]> => {
  const [table] = await findTables()
  const { rows } = await client.query(`SELECT c0, id FROM ${schema}."${table}" ORDER BY id, c0`)
  return rows.map(({ c0, id }) => [c0, id])
}

/** The entries that the documents have. */
const readWanted = async (): Promise<readonly unknown[]> => {
  const { rows } = await client.query(`SELECT document FROM ${schema}.c_things ORDER BY _id`)
  return rows.flatMap(({ document: { _id, tags } }) => {
    const texts = (Array.isArray(tags) ? tags : []).filter((tag) => typeof tag === 'string')
    return [...new Set<string>(texts)].sort().map((tag) => [tag, _id])
  })
}

/** One table has exactly what the documents have, and is recorded once. */
async function expectExact(): Promise<void> {
  expect(await findTables()).toHaveLength(1)
  expect(await readEntries()).toEqual(await readWanted())
  const { rows } = await client.query(`SELECT name FROM ${schema}._structures WHERE name LIKE '%elements%'`)
  expect(rows.map(({ name }) => name)).toEqual(await findTables())
}

const SIZE = 2500
const bare = planOf()
const tagged = planOf(index(f.tags, f.at))

/** A store with documents, and who serves it. */
async function openFilled(): Promise<StorageAdapter> {
  const adapter = connect()
  await adapter.open(bare)
  await client.query(
    `INSERT INTO ${schema}.c_things SELECT 'id' || i, jsonb_build_object('_id', 'id' || i, '_version', 1, 'n', i, 'at', '2026-01-01T00:00:00.000Z', 'tags', CASE WHEN i % 7 > 0 THEN jsonb_build_array('t' || i % 10, 't' || i % 3, i, 't' || i % 10) END) FROM generate_series(1, ${SIZE}) AS i`,
  )
  return adapter
}

const insert = (_id: string, more: object = {}): WriteStep => ({
  in: 'things',
  insert: { _id, _version: 1, ...more },
})
const done = { ok: true, removed: 0 }
const tag = (value: string): Filter => eq(f.tags, value)

describe('reads by elements', () => {
  test('give what the filter means, in its order, whatever was written', { timeout: 120_000 }, async () => {
    const draw = createDraw(seedOf(7))
    const adapter = connect()
    await adapter.open(plans)
    const documents = new Map<string, StoredDocument>()
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 40; i++) {
        const document = drawDocument(draw, draw(60))
        const known = documents.get(document._id)
        const step = known
          ? { in: 'things', replace: document, version: known._version }
          : { in: 'things', insert: document }
        expect(await adapter.write([step], {})).toMatchObject({ ok: true })
        documents.set(document._id, document)
      }
      const remove = and([eq(f.tags, pick(draw, TAGS)), eq(f.team, 'x')])
      const doomed = [...documents.values()].filter(compileFilter(remove))
      expect(await adapter.write([{ in: 'things', remove }], {})).toEqual({
        ok: true,
        removed: doomed.length,
      })
      for (const { _id } of doomed) documents.delete(_id)
      for (let i = 0; i < 150; i++) {
        const filter = and(Array.from({ length: 1 + draw(3) }, () => drawCondition(draw)))
        const sort = pick(draw, SORTS)
        const skip = draw(3) === 0 ? draw(4) : 0
        const limit = pick(draw, [null, 1, 3, 20])
        const matches = [...documents.values()].filter(compileFilter(filter))
        const note = JSON.stringify({ filter, sort, skip, limit })
        expect(await adapter.count('things', filter, {}), note).toBe(matches.length)
        const query = { filter, sort, skip, limit }
        const found = (await adapter.list('things', query)).map(({ _id }) => _id)
        const refused = await adapter.write([{ in: 'things', refuse: filter }], {})
        expect(refused.ok, note).toBe(matches.length === 0)
        if (sort.length > 0) {
          const order = compileDocumentOrder(sort)
          const wanted = matches
            .sort((a, b) => order(a, b, { left: Number.POSITIVE_INFINITY }))
            .slice(skip, limit === null ? undefined : skip + limit)
          expect(found, note).toEqual(wanted.map(({ _id }) => _id))
        } else {
          expect(new Set(found).size, note).toBe(found.length)
          const most = Math.max(0, matches.length - skip)
          expect(found, note).toHaveLength(limit === null ? most : Math.min(limit, most))
        }
      }
    }
  })
})

describe('a table of elements', () => {
  test('has what the documents have, after each kind of write', async () => {
    const adapter = connect()
    await adapter.open(tagged)
    const write = async (...steps: readonly WriteStep[]): Promise<void> => {
      expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
      await expectExact()
    }
    const replace = (_id: string, version: number, more: object): WriteStep => ({
      in: 'things',
      version,
      replace: { _id, _version: version + 1, ...more },
    })
    await write(insert('a', { tags: ['x', 'y', 'x', 1, null], at: '2026-01-01T00:00:00.000Z' }))
    await write(insert('b'), insert('c', { tags: 'x' }), insert('d', { tags: ['x'] }))
    await write(replace('a', 1, { tags: ['y', 'z'], at: '2026-01-01T00:00:00.000Z' }))
    await write(replace('a', 2, { tags: ['y', 'z'], at: '2026-01-02T00:00:00.000Z', n: 1 }))
    await write(replace('a', 3, { tags: ['y', 'z'], at: 3, n: 2 }), replace('d', 1, {}))
    await write({ in: 'things', remove: eq(ID, 'a') }, insert('a', { tags: ['new'] }))
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => adapter.write([insert(`t${i}`, { tags: ['t'] })], {})),
    )
    await expectExact()
    await write({ in: 'things', remove: tag('t') })
    await client.query(
      `COPY ${schema}.c_things FROM PROGRAM $$printf 'k\\t{"_id":"k","tags":["k","l"]}\\n'$$`,
    )
    await client.query(
      `UPDATE ${schema}.c_things SET _id = 'kk', document = document || '{"_id":"kk"}' WHERE _id = 'k'`,
    )
    await expectExact()
    expect(await readEntries()).toContainEqual(['l', 'kk'])
    await client.query(`TRUNCATE ${schema}.c_things`)
    expect(await readEntries()).toEqual([])
  })

  test('writes nothing where neither the elements nor the other fields change', async () => {
    const adapter = connect()
    await adapter.open(tagged)
    const write = async (step: WriteStep): Promise<void> => {
      expect(await adapter.write([step], {})).toEqual(done)
    }
    await write(insert('a', { tags: ['x', 'y'], n: 1 }))
    const [table] = await findTables()
    const stamps = async (): Promise<readonly unknown[]> =>
      (await client.query(`SELECT c0, xmin::text, ctid::text FROM ${schema}."${table}" ORDER BY c0`)).rows
    const before = await stamps()
    await write({ in: 'things', version: 1, replace: { _id: 'a', _version: 2, tags: ['x', 'y'], n: 2 } })
    expect(await stamps()).toEqual(before)
    await write({ in: 'things', version: 2, replace: { _id: 'a', _version: 3, tags: ['y', 'x', 'x', 'z'] } })
    const after = await stamps()
    expect(after).toHaveLength(3)
    expect(after.slice(0, 2)).toEqual(before)
  })

  test('is kept up to date whatever the search_path of a session names', async () => {
    await connect().open(tagged)
    const [table] = await findTables()
    await client.query(
      `BEGIN; CREATE TEMP TABLE "${table}" (c0 text, c1 text, id text); CREATE FUNCTION ${schema}.jsonb_array_elements(jsonb) RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'; SET LOCAL search_path = pg_temp, ${schema}, pg_catalog`,
    )
    await client.query(`INSERT INTO ${schema}.c_things VALUES ('a', '{"_id": "a", "tags": ["x"]}')`)
    await client.query('SET LOCAL search_path = public')
    expect((await client.query(`SELECT FROM pg_temp."${table}"`)).rows).toEqual([])
    await client.query(`DROP TABLE pg_temp."${table}"; COMMIT`)
    await expectExact()
  })

  test('lets nobody use its function who did not make it', async () => {
    await connect().open(tagged)
    const [table] = await findTables()
    const { rows } = await client.query(
      `SELECT has_function_privilege('pg_read_all_data', oid, 'EXECUTE') AS may, prosecdef AS definer, proconfig AS config FROM pg_proc WHERE oid = '${schema}."${table}"'::regproc`,
    )
    expect(rows).toEqual([{ may: false, definer: true, config: ['search_path=pg_catalog, pg_temp'] }])
  })
})

describe('a table of elements of documents that are there', () => {
  test('is made once by many, while others write', { timeout: 120_000 }, async () => {
    const serving = await openFilled()
    let isOver = false
    const writing = Promise.all(
      Array.from({ length: 4 }, async (_, worker) => {
        for (let i = 0; !isOver; i++) {
          const _id = `id${1 + ((i * 4 + worker) % SIZE)}`
          const tags = [`new${i % 5}`, `t${worker}`]
          const steps: readonly WriteStep[] = [
            insert(`fresh${worker}-${i}`, { tags }),
            { in: 'things', version: 1, replace: { _id, _version: 2, tags } },
            { in: 'things', remove: eq(ID, _id) },
          ]
          await serving.write(steps.slice(i % 3, (i % 3) + 1), {})
        }
      }),
    )
    await Promise.all(Array.from({ length: 6 }, async () => connect().open(tagged)))
    isOver = true
    await writing
    await expectExact()
  })

  test('is made whole where somebody died in the middle', async () => {
    await openFilled()
    let left = 2
    const pool = newPool({ connectionString: postgres.url })
    const dying: PostgresPool = {
      options: pool.options,
      waitingCount: 0,
      async connect() {
        const given = await pool.connect()
        return {
          async query(query) {
            if (/FOR NO KEY UPDATE/.test(query.text) && left-- <= 0) throw new Error('died')
            return given.query(query)
          },
          on: (event, listener) => given.on(event, listener),
          removeListener: (event, listener) => given.removeListener(event, listener),
          release: (destroy) => given.release(destroy),
        }
      },
    }
    const first = createPostgresAdapter({ pool: dying, schema })
    await expect(first.open(tagged)).rejects.toMatchObject({ code: 'storage_unavailable' })
    await first.close()
    await pool.end()
    const some = (await readEntries()).length
    expect(some).toBeGreaterThan(0)
    expect(some).toBeLessThan((await readWanted()).length)
    await expect(connect(false).open(tagged)).rejects.toMatchObject({ code: 'unusable_storage' })
    await client.query(
      `INSERT INTO ${schema}.c_things VALUES ('between', '{"_id": "between", "tags": ["x"]}')`,
    )
    await connect().open(tagged)
    await expectExact()
  })

  test('is made anew where its triggers are gone or off, or its schema has another name', async () => {
    const filled = await openFilled()
    await connect().open(tagged)
    await client.query(
      `ALTER TABLE ${schema}.c_things DISABLE TRIGGER USER; DELETE FROM ${schema}.c_things WHERE _id < 'id3'`,
    )
    await expect(connect(false).open(tagged)).rejects.toMatchObject({ code: 'unusable_storage' })
    await connect().open(tagged)
    await expectExact()
    await filled.close()
    const renamed = newSchema()
    await client.query(`ALTER SCHEMA ${schema} RENAME TO ${renamed}`)
    schema = renamed
    const moved = connect()
    await moved.open(tagged)
    expect(await moved.write([insert('moved', { tags: ['moved'] })], {})).toEqual(done)
    await expectExact()
  })

  test('waits for who writes for long, and keeps nobody else waiting', async () => {
    const serving = await openFilled()
    const old = new pg.Client({ connectionString: postgres.url })
    await old.connect()
    await old.query(`BEGIN; DELETE FROM ${schema}.c_things WHERE _id = 'id7'`)
    const opening = connect().open(tagged)
    const isWaiting = async (): Promise<boolean> =>
      (
        await client.query(
          `SELECT FROM pg_stat_activity WHERE query LIKE 'CREATE TRIGGER%${schema}%' AND wait_event_type = 'Lock'`,
        )
      ).rows.length > 0
    await until(isWaiting)
    expect(await serving.write([insert('meanwhile', { tags: ['x'] })], {})).toEqual(done)
    expect(await findTables()).toEqual([])
    await old.query('COMMIT')
    await old.end()
    await opening
    await expectExact()
  })

  test('with texts that are too long is taken back, and names its fields', async () => {
    const serving = await openFilled()
    const long = Array.from({ length: 9000 }, (_, i) =>
      String.fromCharCode(33 + ((i * i * 31 + i * 7919) % 900)),
    ).join('')
    await serving.write([insert('long', { tags: [long] })], {})
    await expect(connect().open(tagged)).rejects.toMatchObject({
      code: 'unusable_storage',
      message: expect.stringContaining('tags'),
    })
    expect(await findTables()).toEqual([])
    expect(await serving.write([insert('longer', { tags: [long] })], {})).toEqual(done)
    await serving.write([{ in: 'things', remove: isOneOf(ID, 'long', 'longer') }], {})
    const other = connect()
    await other.open(tagged)
    await expectExact()
    // A service without such an index drops it; others read without it.
    expect(await serving.write([insert('long', { tags: [long, 'rare'] })], {})).toEqual(done)
    expect(await findTables()).toEqual([])
    const query = { filter: tag('rare'), sort: [], skip: 0, limit: null }
    expect(await other.list('things', query)).toHaveLength(1)
    expect(await other.count('things', tag('rare'), {})).toBe(1)
    expect(await other.write([{ in: 'things', refuse: tag('rare') }], {})).toMatchObject({ reason: 'found' })
  })

  test('is said without migrate, and can be made by what is said', async () => {
    await openFilled()
    const said = await connect(false)
      .open(tagged)
      .then(
        () => '',
        (cause: Error) => cause.message,
      )
    const sql = said.slice(said.indexOf('CREATE SCHEMA')).split(';\n')
    expect(sql.filter((text) => text.startsWith('CREATE TRIGGER'))).toHaveLength(3)
    for (const text of sql) await client.query(text)
    await connect(false).open(tagged)
    await expectExact()
  })
})

describe('a role', () => {
  test.each([
    ['may not use the language of functions', 'REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC'],
    ['finds no language of functions', 'DROP EXTENSION plpgsql'],
  ])('that %s learns what it needs, and leaves nothing', async (_, revoke) => {
    const [database, role] = [`elements_${newSchema()}`, `role_${newSchema()}`]
    await client.query(`CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`)
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'role'`)
    const url = new URL(postgres.url)
    url.pathname = database
    const own = new pg.Client({ connectionString: url.href })
    await own.connect()
    await own.query(`${revoke}; GRANT CREATE ON DATABASE ${database} TO ${role}`)
    url.username = role
    url.password = 'role'
    const adapter = createPostgresAdapter({ connectionString: url.href, schema })
    try {
      await adapter.open(bare)
      await expect(adapter.open(tagged)).rejects.toMatchObject({
        code: 'unusable_storage',
        message: expect.stringContaining('plpgsql'),
      })
      expect(await adapter.write([insert('a', { tags: ['x'] })], {})).toEqual(done)
      const { rows } = await own.query(`SELECT name FROM ${schema}._structures WHERE name LIKE '%elements%'`)
      expect(rows).toEqual([])
    } finally {
      await adapter.close()
      await own.end()
      await client.query(`DROP DATABASE ${database}`)
      await client.query(`DROP ROLE ${role}`)
    }
  })

  test('with rights on the documents goes on writing; to read, it needs one on the table of elements', async () => {
    const role = `role_${newSchema()}`
    await connect().open(bare)
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'role'`)
    await client.query(
      `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    )
    const url = new URL(postgres.url)
    url.username = role
    url.password = 'role'
    const open = (): StorageAdapter => {
      const adapter = createPostgresAdapter({ connectionString: url.href, schema, migrate: false })
      opened.push(adapter)
      return adapter
    }
    const old = open()
    await old.open(bare)
    await connect().open(tagged)
    expect(await old.write([insert('a', { tags: ['x', 'y'] })], {})).toEqual(done)
    await expectExact()
    await expect(open().open(tagged)).rejects.toMatchObject({ code: 'unusable_storage' })
    await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`)
    const reading = open()
    await reading.open(tagged)
    expect(await reading.count('things', tag('x'), {})).toBe(1)
    for (const adapter of opened.splice(0)) await adapter.close()
    await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
  })
})

describe('the plan of PostgreSQL', () => {
  const SOME = 6000
  const many = planOf(
    index(f.tags, f.at),
    index(f.team, f.at),
    index(f.owners),
    index(f.team, f.tags, f.at),
    index(f.n),
    index(f.team, f.n, f.at),
  )
  const indexes = many[0]?.indexes ?? []

  interface Node {
    readonly 'Node Type': string
    readonly 'Actual Rows': number
    readonly 'Actual Loops': number
    readonly 'Rows Removed by Filter'?: number
    readonly Plans?: readonly Node[]
  }
  const nodesOf = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

  const own = newSchema()
  const { dialect, statements } = createPostgresEngine(own, () => indexes)
  beforeAll(async () => {
    const adapter = createPostgresAdapter({ connectionString: postgres.url, schema: own })
    await adapter.open(many)
    await adapter.close()
    await client.query(
      `INSERT INTO ${own}.c_things SELECT 'id' || i, jsonb_build_object('_id', 'id' || i, '_version', 1, 'n', i % 7, 'team', 'team' || i % 40, 'at', to_char('2026-01-01'::timestamp + i * 7919 % ${SOME} * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), 'tags', jsonb_build_array('t' || i % 40, 'u' || i % 31, 'v' || i), 'parts', jsonb_build_array(jsonb_build_object('owner', 'o' || i % ${SOME / 4}))) FROM generate_series(1, ${SOME}) AS i`,
    )
    await client.query('VACUUM ANALYZE')
  })
  afterAll(() => client.query(`DROP SCHEMA ${own} CASCADE`))

  /** The rows that a statement looks at, and the kinds of its steps. */
  async function explain({ text, values }: Statement): Promise<{ rows: number; kinds: readonly string[] }> {
    const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, [...values])
    const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan)
    const looked = nodes.map(
      (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    )
    return { rows: Math.max(...looked), kinds: nodes.map((node) => node['Node Type']) }
  }

  const newest: readonly SortKey[] = [
    { field: f.at, descending: true },
    { field: ID, descending: true },
  ]
  const pageOf = (filter: Filter): Statement => {
    const query = { filter, sort: newest, skip: 0, limit: 20 }
    return mergeRanges(dialect, indexes, 'things', query) ?? statements.page('things', query)
  }
  const before: Filter = { kind: 'lt', field: f.at, value: '2026-01-05T00:00:00.000Z' }

  test('of a page by an element, or several, looks at what it gives', async () => {
    for (const filter of [tag('t7'), and([tag('t7'), before])]) {
      const { rows, kinds } = await explain(pageOf(filter))
      expect(kinds).not.toContain('Seq Scan')
      expect(kinds).not.toContain('Sort')
      expect(rows, JSON.stringify(filter)).toBeLessThan(40)
    }
    for (const filter of [isOneOf(f.tags, 't7', 'u7'), or([tag('t7'), eq(f.team, 'team3')])]) {
      const { rows, kinds } = await explain(pageOf(filter))
      expect(kinds).not.toContain('Seq Scan')
      expect(rows, JSON.stringify(filter)).toBeLessThan(80)
    }
  })

  test('of a count, a refusal and a removal by elements looks at what matches', async () => {
    const owner = eq(f.owners, 'o7')
    const either = or([owner, tag('v9')])
    const list = statements.list('things', { filter: owner, sort: [], skip: 0, limit: null })
    for (const statement of [
      statements.count('things', owner),
      statements.count('things', isOneOf(f.owners, 'o7', 'o8')),
      statements.count('things', either),
      statements.remove('things', and([owner, eq(f.n, 3)])),
      list,
      { ...list, text: `${list.text} LIMIT 1` },
    ]) {
      const { rows, kinds } = await explain(statement)
      expect(kinds).not.toContain('Seq Scan')
      expect(rows, statement.text).toBeLessThan(16)
    }
    const { kinds } = await explain(statements.count('things', tag('t7')))
    expect(kinds.filter((kind) => /Loop|Join|Seq/.test(kind))).toEqual([])
  })

  test('of what names a document asks no table of elements', () => {
    const query = { filter: and([eq(ID, 'id7'), tag('t7')]), sort: [], skip: 0, limit: 1 }
    expect(statements.page('things', query).text).not.toContain('_elements_')
  })
})
