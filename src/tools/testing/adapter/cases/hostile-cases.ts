import type { CollectionPlan, StoredDocument } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkSame } from '../check/check.js'
import { checkWrite, done, rejected, stepsIn } from '../check/check-write.js'
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
import { checkCount, checkList } from '../check/plain-array.js'
import { adapterCase, withAdapter } from '../check/with-adapter.js'

const inThings = stepsIn('things')

/** Returns a name of the maximum length that ends with `end`. */
const long = (end: string): string => 'a'.repeat(63 - end.length) + end

// biome-ignore format: a table
const COLLECTIONS = [
  'select', 'order-by', 'sqlite_x', 'pg_class', 'information_schema', 'table', 'a-b', 'a_b', 'valueOf', '_sessions',
  long('x'), long('y'),
]

// biome-ignore format: a table
const FIELDS = [
  'group', 'order', 'select', 'null', 'true', 'document', 'data', 'json', 'version', 'rowid', 'oid', 'ctid', 'id',
  'toString', 'hasOwnProperty', 'valueOf', 'length', 'a_b', 'a_b_c', long('x'), long('y'),
]

// biome-ignore format: a table
const TEXTS = [
  "'; drop table x;--", '"; drop table x;--', '$1', '?', '?1', ':a', '@a', '$' + '{x}', '%s', '%', '\\', '\\\\', "\\'",
  '\\u0041', '\\x41', "E'\\n'", '$$', '$a$', '/*', '--', '\u2028', '\u{1f600}', '\u0001\u001f\u007f', 'x'.repeat(1000),
]

/** JSON with dangerous property names. It is parsed from strings so that `__proto__` is an own property. */
const TRAPS: readonly unknown[] = [
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":null}'),
  JSON.parse(
    '{"a.b":1,"a":{"b":2},"":3,"$ref":"x","$gt":1,"😀":[],"a b":{},"\\"":1,"\\\\":1,"\'":1,"[0]":1,"0":1,"1":2}',
  ),
  [[], {}, [[]], [{}], null, false, 0, '', [null]],
  { deep: JSON.parse(`${'{"a":['.repeat(14)}1${']}'.repeat(14)}`) },
  { wide: Array.from({ length: 500 }, (_, i) => ({ i })) },
  {
    numbers: [
      0,
      1.5,
      0.1 + 0.2,
      1e-7,
      Number.MIN_VALUE,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
      1e15,
    ],
  },
  { text: 'é😀\n'.repeat(33_334) },
]

/**
 * Cases with names and values that break an adapter if it concatenates them into a statement or uses them as property
 * names without care.
 */
export const hostileCases: readonly AdapterCase[] = [
  {
    name: 'names: of collections',
    run: (storage) => {
      const plans: readonly CollectionPlan[] = COLLECTIONS.map((name) =>
        planOf(name, [true, fieldOf('s', 'string')]),
      )
      return withAdapter(storage, plans, async (adapter) => {
        for (const name of COLLECTIONS) await insertAll(adapter, name, [documentOf('1', { s: name })])
        for (const name of COLLECTIONS) {
          await checkStored(adapter, name, [documentOf('1', { s: name })], `collection ${name}`)
          const twin = documentOf('2', { s: name })
          await checkWrite(adapter, [{ in: name, insert: twin }], rejected(0, 'unique', 's'))
        }
      })
    },
  },
  {
    name: 'names: of fields',
    run: (storage) => {
      const indexes = FIELDS.map((path) => [true, fieldOf(path, 'string')] as const)
      return withAdapter(storage, [planOf('things', ...indexes)], async (adapter) => {
        const nameless = documentOf('none')
        const full = documentOf('full', Object.fromEntries(FIELDS.map((name) => [name, `of ${name}`])))
        const nested = documentOf('nested', {
          o: Object.fromEntries(FIELDS.map((name) => [name, `in ${name}`])),
        })
        const all = [nameless, full, nested]
        await insertAll(adapter, 'things', all)
        await checkStored(adapter, 'things', all, 'documents with hostile names')
        for (const name of FIELDS) {
          const [top, inner] = [fieldOf(name, 'string'), fieldOf(`o.${name}`, 'string')]
          for (const field of [top, inner]) {
            await checkList(adapter, 'things', all, queryOf({ filter: present(field) }))
            await checkList(adapter, 'things', all, queryOf({ filter: eq(field, `of ${name}`) }))
            await checkList(adapter, 'things', all, queryOf({ sort: [by(field, true), by(ID)] }))
          }
          const twin = documentOf('twin', { [name]: `of ${name}` })
          await checkWrite(adapter, [inThings.insert(twin)], rejected(0, 'unique', name))
        }
      })
    },
  },
  {
    name: 'names: of indexes that read the same when joined',
    run: (storage) => {
      const [a_b, c, a, b_c] = ['a_b', 'c', 'a', 'b_c'].map((path) => fieldOf(path, 'string'))
      if (!a_b || !c || !a || !b_c) throw new Error('unreachable')
      return withAdapter(storage, [planOf('things', [true, a_b, c], [true, a, b_c])], async (adapter) => {
        const document = { a_b: '1', c: '1', a: '2', b_c: '2' }
        await insertAll(adapter, 'things', [documentOf('1', document)])
        const refuse = (properties: JsonObject, fields: readonly string[]): Promise<void> =>
          checkWrite(adapter, [inThings.insert(documentOf('2', properties))], {
            ok: false,
            step: 0,
            reason: 'unique',
            fields,
          })
        await refuse({ a_b: '1', c: '1' }, ['a_b', 'c'])
        await refuse({ a: '2', b_c: '2' }, ['a', 'b_c'])
      })
    },
  },
  adapterCase(
    'values: texts are texts, wherever they come in',
    [planOf('things', [true, fieldOf('s', 'string')])],
    async (adapter) => {
      const all = TEXTS.map((s, i) => documentOf(`t${String(i).padStart(2, '0')}`, { s, list: [s] }))
      await insertAll(adapter, 'things', all)
      await checkStored(adapter, 'things', all, 'documents with hostile texts')
      for (const text of TEXTS) {
        const [s, list] = [fieldOf('s', 'string'), fieldOf('list', 'string', true)]
        for (const filter of [eq(s, text), eq(list, text), eq(ID, text)]) {
          await checkList(adapter, 'things', all, queryOf({ filter }))
          await checkCount(adapter, 'things', all, { filter })
        }
        await checkWrite(adapter, [inThings.require(text)], rejected(0, 'missing'))
      }
    },
  ),
  adapterCase('values: all JSON comes back as it went in', [planOf('things')], async (adapter) => {
    const all: readonly StoredDocument[] = TRAPS.map((value, i) => documentOf(`j${i}`, { value }))
    await insertAll(adapter, 'things', all)
    await checkStored(adapter, 'things', all, 'documents with JSON of all kinds')
    checkSame(
      Reflect.get({}, 'polluted'),
      undefined,
      'a property that every object inherits (the prototype was changed)',
    )
    for (const [i, value] of TRAPS.entries()) {
      const replace = { _id: `j${i}`, _version: 2, again: value }
      await checkWrite(adapter, [inThings.replace(replace, 1)], done)
    }
    const replaced = TRAPS.map((value, i) => ({ _id: `j${i}`, _version: 2, again: value }))
    await checkStored(adapter, 'things', replaced, 'replaced documents with JSON of all kinds')
  }),
]
