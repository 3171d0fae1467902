import { everything } from '../../../../core/filter/filter.js'
import type { StoredDocument } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { check, checkSame, rejectionOf } from '../check/check.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import {
  by,
  checkStored,
  documentOf,
  eq,
  fieldOf,
  ID,
  insertAll,
  planOf,
  present,
  queryOf,
} from '../check/documents.js'
import { edgeDocuments } from '../check/edge-documents.js'
import { scalarTypes } from '../check/edge-values.js'
import { checkCount, checkList } from '../check/plain-array.js'
import { withAdapter, withAdapters } from '../check/with-adapter.js'

const inThings = stepsIn('things')

const S = fieldOf('s', 'string')
const N = fieldOf('n', 'number')
const plan = planOf('things', [true, S], [false, N])

const things: readonly StoredDocument[] = Array.from({ length: 30 }, (_, i) =>
  documentOf(`${'cBa'[i % 3] ?? ''}${i}`, { s: `s${i}`, n: i % 4, nested: { list: [i] } }),
)

const taken = rejected(0, 'unique', 's')

/** Returns a string that can hardly be compressed. */
const noise = (length: number): string =>
  String.fromCharCode(...Array.from({ length }, (_, i) => 33 + ((i * i * 31 + i * 7919) % 900)))

/** Cases for closing an adapter, opening it again, and opening it with other plans. */
export const reopenCases: readonly AdapterCase[] = [
  {
    name: 'open: all is there after closing, in the same order',
    async run(storage) {
      await withAdapter(storage, [plan], (adapter) => insertAll(adapter, 'things', things))
      await withAdapter(storage, [plan], async (adapter) => {
        await checkStored(adapter, 'things', things, 'after closing and opening')
        await checkList(adapter, 'things', things, queryOf({ sort: [by(N, true), by(ID)] }))
        await checkWrite(adapter, [inThings.insert(documentOf('x', { s: 's7' }))], taken)
      })
    },
  },
  {
    name: 'open: again and at once',
    run: (storage) =>
      withAdapters(storage, 4, [], async (adapters) => {
        await Promise.all(adapters.flatMap((adapter) => [adapter.open([plan]), adapter.open([plan])]))
        const [first] = adapters
        check(first !== undefined, 'no adapter is open')
        await insertAll(first, 'things', things)
        await Promise.all(adapters.map((adapter) => adapter.open([plan, planOf('more')])))
        for (const adapter of adapters) {
          await checkStored(adapter, 'things', things, 'after opening many times')
          checkSame(await adapter.count('more', everything, {}), 0, 'documents of a new collection')
          await checkWrite(adapter, [inThings.insert(documentOf('x', { s: 's7' }))], taken)
        }
      }),
  },
  {
    name: 'open: an index that comes later covers what is there',
    async run(storage) {
      const names = scalarTypes.map((type) => ({ name: `edges-${type}`, field: fieldOf('v', type) }))
      const bare = names.map(({ name }) => planOf(name))
      await withAdapter(storage, bare, async (adapter) => {
        for (const { name } of names) await insertAll(adapter, name, edgeDocuments)
      })
      const indexed = names.map(({ name, field }) => planOf(name, [false, field]))
      await withAdapter(storage, indexed, async (adapter) => {
        for (const { name, field } of names) {
          await checkList(adapter, name, edgeDocuments, queryOf({ sort: [by(field), by(ID)] }))
          await checkCount(adapter, name, edgeDocuments, { filter: present(field) })
        }
      })
    },
  },
  {
    name: 'open: a unique index that comes later binds what is there',
    async run(storage) {
      await withAdapter(storage, [planOf('things')], (adapter) => insertAll(adapter, 'things', things))
      await withAdapter(storage, [plan], async (adapter) => {
        await checkStored(adapter, 'things', things, 'after opening with a unique index')
        await checkWrite(adapter, [inThings.insert(documentOf('x', { s: 's7' }))], taken)
        await checkWrite(adapter, [inThings.remove(eq(S, 's7'))], removing(1))
        await checkWrite(adapter, [inThings.insert(documentOf('x', { s: 's7' }))], done)
      })
    },
  },
  {
    name: 'open: a unique index over duplicates is refused by its fields, without their values',
    async run(storage) {
      const twins = ['1', '2'].map((id) =>
        documentOf(id, { firstField: 'hush-7312', secondField: 'hush-9954' }),
      )
      const fields = ['firstField', 'secondField'].map((path) => fieldOf(path, 'string'))
      await withAdapter(storage, [planOf('things')], async (adapter) => {
        await insertAll(adapter, 'things', twins)
        const reason = await rejectionOf(adapter.open([planOf('things', [true, ...fields])]))
        check(reason !== undefined, 'open with a unique index over duplicates did not reject')
        for (const { path } of fields)
          check(reason.includes(path), `the error does not name ${path}: ${reason}`)
        check(!/7312|9954/.test(reason), `the error contains a value: ${reason}`)
      })
      await withAdapter(storage, [planOf('things')], async (adapter) => {
        await checkStored(adapter, 'things', twins, 'after a refused index')
        await checkWrite(adapter, [inThings.remove(eq(ID, '1'))], removing(1))
      })
      await withAdapter(storage, [planOf('things', [true, ...fields])], (adapter) =>
        checkStored(adapter, 'things', twins.slice(1), 'after the duplicate is gone'),
      )
    },
  },
  {
    name: 'dropUnique: ends the indexes over exactly these fields, also for other adapters',
    run: (storage) =>
      withAdapters(storage, 2, [planOf('things', [true, S], [true, S, N])], async ([first, second]) => {
        check(first !== undefined && second !== undefined, 'no adapter is open')
        if (!first.dropUnique) return
        await insertAll(first, 'things', things)
        await first.dropUnique('things', ['s', 'other'])
        await first.dropUnique('things', ['n'])
        await checkWrite(first, [inThings.insert(documentOf('x', { s: 's7' }))], taken)
        await first.dropUnique('things', ['s'])
        for (const adapter of [first, second]) {
          const twin = documentOf(`${adapter === first}`, { s: 's7' })
          await checkWrite(adapter, [inThings.insert(twin)], done)
          await checkWrite(adapter, [inThings.remove(eq(ID, twin._id))], removing(1))
        }
        const pair = [inThings.insert(documentOf('x', { s: 's7', n: 3 }))]
        await checkWrite(first, pair, rejected(0, 'unique', 's', 'n'))
        await first.dropUnique('things', ['n', 's'])
        await first.dropUnique('things', ['n', 's'])
        await checkWrite(first, pair, done)
        await checkList(
          first,
          'things',
          [...things, documentOf('x', { s: 's7', n: 3 })],
          queryOf({ filter: eq(S, 's7') }),
        )
        await checkWrite(first, [inThings.remove(eq(ID, 'x'))], removing(1))
        // It can be created again.
        await first.open([plan])
        await checkWrite(first, [inThings.insert(documentOf('x', { s: 's7' }))], taken)
      }),
  },
  {
    name: 'open: a text may be of any length once no index asks for its field',
    async run(storage) {
      await withAdapter(storage, [plan], (adapter) => insertAll(adapter, 'things', things))
      await withAdapter(storage, [planOf('things', [false, N])], async (adapter) => {
        const long = [3000, 20_000].map((n) => documentOf(`${n}`, { s: noise(n), n }))
        for (const insert of long) await checkWrite(adapter, [inThings.insert(insert)], done)
        await checkList(adapter, 'things', [...things, ...long], queryOf({ sort: [by(S, true), by(ID)] }))
      })
    },
  },
  {
    name: 'open: a field that is declared with another type than before',
    async run(storage) {
      for (const type of [...scalarTypes, ...scalarTypes]) {
        const field = fieldOf('v', type)
        await withAdapter(storage, [planOf('edges', [false, field])], async (adapter) => {
          if ((await adapter.count('edges', everything, {})) === 0)
            await insertAll(adapter, 'edges', edgeDocuments)
          for (const descending of [false, true]) {
            const sort = [by(field, descending), by(ID, descending)]
            await checkList(adapter, 'edges', edgeDocuments, queryOf({ sort }))
            await checkList(
              adapter,
              'edges',
              edgeDocuments,
              queryOf({ filter: present(field), sort, limit: 9 }),
            )
          }
        })
      }
    },
  },
]
