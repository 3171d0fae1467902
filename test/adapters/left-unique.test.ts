import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { FieldRef } from '../../src/filter/filter.js'
import type { CollectionPlan, StorageAdapter } from '../../src/storage.js'
import { newSchema, usePostgres } from '../support/postgres.js'

/** What a configuration no longer makes unique (CONTRACT.md §7, "Storage"). */

const field = (path: string): FieldRef => ({ path, type: 'string', each: false })
const planOf = (...unique: readonly (readonly string[])[]): readonly CollectionPlan[] => [
  { name: 'things', indexes: unique.map((paths) => ({ fields: paths.map(field), unique: true })) },
]

const postgres = usePostgres()

/** By engine: what opens the same storage again and again. */
const ENGINES: { readonly [name: string]: () => () => StorageAdapter } = {
  SQLite: () => {
    const file = join(mkdtempSync(join(tmpdir(), 'collection-service-left-')), 'things.db')
    return () => createSqliteAdapter({ file })
  },
  PostgreSQL: () => {
    const schema = newSchema()
    return () => createPostgresAdapter({ connectionString: postgres.url, schema })
  },
}

describe.each(Object.keys(ENGINES))('what was made unique in %s', (engine) => {
  afterEach(() => void vi.restoreAllMocks())

  test('stays so, and a start of another configuration warns of it', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const create = ENGINES[engine]?.() ?? expect.fail('an engine')
    /** Opens the storage with a plan, and gives what is warned of and what becomes of two equal documents. */
    const open = async (plans: readonly CollectionPlan[], ids: readonly string[]) => {
      warn.mockClear()
      const adapter = create()
      await adapter.open(plans)
      const results = []
      for (const _id of ids)
        results.push(
          (await adapter.write([{ in: 'things', insert: { _id, _version: 1, a: 'x', b: _id } }], {})).ok,
        )
      await adapter.close()
      return { results, warned: warn.mock.calls.map(([message, options]) => [message, options]) }
    }
    const first = await open(planOf(['a'], ['a', 'b']), ['1', '2'])
    expect(first).toEqual({ results: [true, false], warned: [] })

    const without = await open(planOf(['a', 'b']), ['3'])
    expect(without.results).toEqual([false])
    expect(without.warned).toEqual([
      [
        expect.stringMatching(
          /^documents of things must still differ in a, .* the index _unique_\w+ is dropped/,
        ),
        { code: 'COLLECTION_SERVICE_LEFT_UNIQUE' },
      ],
    ])
    expect((await open(planOf(), [])).warned).toHaveLength(2)
    expect((await open(planOf(['a'], ['a', 'b']), [])).warned).toEqual([])
    // Of other collections it says nothing.
    expect((await open([{ name: 'others', indexes: [] }], [])).warned).toEqual([])
  })
})
