import type { FieldRef, Filter, Scalar } from '../../../../core/filter/filter.js'
import type { SortKey, StorageAdapter, StoredDocument, WriteStep } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import {
  allOf,
  anyOf,
  by,
  checkStored,
  documentOf,
  eq,
  fieldOf,
  ID,
  insertAll,
  notOf,
  planOf,
  present,
  queryOf,
} from '../check/documents.js'
import { edgeDocuments } from '../check/edge-documents.js'
import { scalars, scalarTypes } from '../check/edge-values.js'
import { checkCount, checkFound, checkList } from '../check/plain-array.js'
import { adapterCase, pairCase, withAdapter } from '../check/with-adapter.js'

const inThings = stepsIn('things')

const insideOf = (path: string, type: FieldRef['type'], inside: string): FieldRef => ({
  ...fieldOf(path, type, true),
  inside,
})

/** Returns a filter that is true if a field has any of the values. */
const oneOf = (field: FieldRef, values: readonly Scalar[]): Filter =>
  anyOf(...values.map((value) => eq(field, value)))

/**
 * Cases with every edge value as an array element. The elements are indexed alone, and before, between and after other
 * fields.
 */
const typeCases = scalarTypes.map(
  (type): AdapterCase => ({
    name: `elements: an index over ${type}`,
    run(storage) {
      const [v, deep] = [fieldOf('v', type), fieldOf('a.b', type)]
      const elements = [
        fieldOf('l', type, true),
        fieldOf('a.l', type, true),
        insideOf('m', type, 'x'),
        insideOf('m', type, 'o.y'),
      ]
      const indexes = elements.flatMap((each) => [
        [false, each] as const,
        [false, each, v] as const,
        [false, deep, each, v] as const,
      ])
      return withAdapter(storage, [planOf('edges', ...indexes)], async (adapter) => {
        await insertAll(adapter, 'edges', edgeDocuments)
        for (const each of elements) {
          for (const value of scalars) await checkFound(adapter, 'edges', edgeDocuments, eq(each, value))
          for (const value of scalars.slice(0, 8))
            await checkFound(adapter, 'edges', edgeDocuments, notOf(eq(each, value)))
          await checkFound(adapter, 'edges', edgeDocuments, present(each))
          await checkFound(adapter, 'edges', edgeDocuments, notOf(present(each)))
          await checkFound(adapter, 'edges', edgeDocuments, oneOf(each, scalars))
        }
      })
    },
  }),
)

const TAGS = fieldOf('tags', 'string', true)
const LINKS = insideOf('links', 'string', 'to.id')
const N = fieldOf('n', 'integer')
const S = fieldOf('s', 'string')
const AT = fieldOf('place.at', 'string')

const plan = planOf(
  'things',
  [false, TAGS, N],
  [false, S, TAGS],
  [false, N, LINKS, S],
  [false, LINKS],
  [false, AT],
)
const bare = planOf('things')

const tagOf = (i: number): string => ['a', 'A', 'b', 'é', '\uffff', '\u{1f600}', ''][i % 7] ?? ''

/**
 * Documents with many equal values. Their arrays have no, one or several elements; some elements occur twice, and some
 * have another type.
 */
const things: readonly StoredDocument[] = Array.from({ length: 90 }, (_, i) =>
  documentOf(`${'zYxW'[i % 4] ?? ''}${(i * 37) % 90}`, {
    ...(i % 9 === 0 ? {} : { n: [3, 1, 2, null, 1.5][i % 5] }),
    s: ['x', 'y', 5][i % 3],
    place: i % 4 === 0 ? 'x' : { at: tagOf(i % 5) },
    tags: [
      [tagOf(i)],
      [tagOf(i), tagOf(i + 1), tagOf(i)],
      [],
      [null, tagOf(i + 2), 5, ['a'], { to: 'a' }],
      tagOf(i),
      null,
    ][i % 6],
    links: [tagOf(i), tagOf(i + 3)].map((id) => (i % 8 === 0 ? id : { to: { id }, other: 1 })),
  }),
)

const few = ['a', '\u{1f600}', 'b', 'none']
const FILTERS: readonly Filter[] = [
  eq(TAGS, 'a'),
  eq(TAGS, ''),
  eq(TAGS, 5),
  oneOf(TAGS, few),
  oneOf(TAGS, ['a', 'a']),
  oneOf(TAGS, ['a', 5]),
  allOf(eq(TAGS, 'a'), eq(TAGS, 'A')),
  allOf(eq(TAGS, 'a'), notOf(eq(TAGS, 'A'))),
  allOf(oneOf(TAGS, few), { kind: 'gte', field: N, value: 2 }),
  allOf(eq(TAGS, 'b'), eq(S, 'x')),
  allOf(oneOf(TAGS, few), oneOf(S, ['x', 'y'])),
  allOf(eq(TAGS, 'a'), notOf(present(N))),
  allOf({ kind: 'gt', field: TAGS, value: 'a' }, eq(S, 'x')),
  anyOf(eq(TAGS, 'a'), eq(S, 'y')),
  anyOf(eq(TAGS, 'a'), eq(LINKS, 'a')),
  anyOf(oneOf(TAGS, few), oneOf(LINKS, few), eq(AT, 'b')),
  eq(LINKS, 'a'),
  oneOf(LINKS, few),
  allOf(oneOf(LINKS, few), oneOf(N, [1, 2])),
  allOf(eq(LINKS, 'b'), eq(fieldOf('links', 'string', true), 'b')),
  eq(AT, 'a'),
  allOf(oneOf(AT, few), eq(TAGS, 'b')),
]

const SORTS: readonly (readonly SortKey[])[] = [
  [],
  [by(ID)],
  [by(ID, true)],
  [by(N), by(ID)],
  [by(N, true), by(ID, true)],
  [by(N, true), by(ID)],
  [by(S), by(N), by(ID)],
  [by(AT), by(ID)],
]

async function checkAll(adapter: StorageAdapter, documents: readonly StoredDocument[]): Promise<void> {
  for (const filter of FILTERS) {
    for (const sort of SORTS) {
      await checkList(adapter, 'things', documents, queryOf({ filter, sort }))
      await checkList(adapter, 'things', documents, queryOf({ filter, sort, skip: 2, limit: 5 }))
    }
    await checkCount(adapter, 'things', documents, { filter })
  }
}

/** Replaces documents, and returns the documents that are then stored. */
async function replaceAll(
  adapter: StorageAdapter,
  documents: readonly StoredDocument[],
  change: (document: StoredDocument, i: number) => JsonObject,
): Promise<readonly StoredDocument[]> {
  const next = documents.map((document, i): StoredDocument => {
    const { _id, _version } = document
    return { ...document, ...change(document, i), _id, _version: _version + 1 }
  })
  const steps = next.map((replace): WriteStep => inThings.replace(replace, replace._version - 1))
  await checkWrite(adapter, steps, done)
  return next
}

/** Functions that return changes of a document. Each moves some documents to other index entries, but not others. */
const CHANGES: readonly ((document: StoredDocument, i: number) => JsonObject)[] = [
  ({ tags }, i) => ({ tags: Array.isArray(tags) ? [...tags, 'a', tagOf(i)] : [tagOf(i)] }),
  (_, i) => (i % 2 === 0 ? { n: i % 4 } : { s: 'x' }),
  ({ tags }, i) => ({ tags: Array.isArray(tags) ? tags.slice(i % 3) : null }),
  (_, i) => ({ links: i % 3 === 0 ? null : [{ to: { id: 'b' } }, { to: 'b' }, { to: { id: tagOf(i) } }] }),
  (_, i) => ({ other: i }),
]

/** Returns a string of 1,024 bytes that can hardly be compressed. */
const noise = (seed: number): string =>
  String.fromCharCode(...Array.from({ length: 512 }, (_, i) => 256 + ((i * i * 31 + i * seed) % 1700)))

/** Cases for indexes that have an entry for each distinct element of an array. */
export const elementCases: readonly AdapterCase[] = [
  ...typeCases,
  adapterCase('elements: lists, orders, pages and counts, each document once', [plan], async (adapter) => {
    await insertAll(adapter, 'things', things)
    await checkAll(adapter, things)
  }),
  {
    name: 'elements: an index that comes later covers what is there',
    async run(storage) {
      await withAdapter(storage, [bare], (adapter) => insertAll(adapter, 'things', things))
      await withAdapter(storage, [plan], (adapter) => checkAll(adapter, things))
      await withAdapter(storage, [plan], (adapter) => checkAll(adapter, things))
    },
  },
  {
    name: 'elements: another type, or another place inside, than before',
    async run(storage) {
      for (const type of [...scalarTypes, ...scalarTypes]) {
        const fields = [fieldOf('l', type, true), insideOf('m', type, 'x'), insideOf('m', type, 'o.y')]
        const plan = planOf('edges', ...fields.map((field) => [false, field, fieldOf('v', type)] as const))
        await withAdapter(storage, [plan], async (adapter) => {
          if ((await adapter.count('edges', queryOf().filter, {})) === 0)
            await insertAll(adapter, 'edges', edgeDocuments)
          for (const field of fields)
            await checkFound(adapter, 'edges', edgeDocuments, oneOf(field, scalars.slice(0, 40)))
        })
      }
    },
  },
  pairCase('elements: follow each write, whichever adapter makes it', [plan], async (first, second) => {
    await insertAll(first, 'things', things)
    let stored = things
    for (const [i, change] of CHANGES.entries()) {
      stored = await replaceAll(i % 2 === 0 ? first : second, stored, change)
      await checkAll(first, stored)
    }
    await checkAll(second, stored)
  }),
  {
    name: 'elements: follow writes of an adapter that was opened without the index',
    async run(storage) {
      const [before, after] = [storage.connect(), storage.connect()]
      try {
        await before.open([bare])
        await insertAll(before, 'things', things.slice(0, 60))
        await after.open([plan])
        await insertAll(before, 'things', things.slice(60))
        await checkAll(after, things)
        let stored = things
        for (const change of CHANGES) stored = await replaceAll(before, stored, change)
        const [gone, ...left] = stored
        if (gone) await checkWrite(before, [inThings.remove(eq(ID, gone._id))], removing(1))
        await checkAll(after, left)
      } finally {
        for (const adapter of new Set([before, after])) await adapter.close()
      }
    },
  },
  adapterCase('elements: a write that is refused leaves them as they were', [plan], async (adapter) => {
    await insertAll(adapter, 'things', things)
    const [one] = things
    const steps: readonly WriteStep[] = [
      inThings.insert(documentOf('new', { tags: ['a', 'b'], n: 1, s: 'x' })),
      inThings.replace({ ...one, _id: one?._id ?? '', _version: 2, tags: ['b'] }, 1),
      inThings.remove(eq(TAGS, 'a')),
      inThings.refuse(eq(TAGS, 'b')),
    ]
    await checkWrite(adapter, steps, rejected(3, 'found'))
    await checkAll(adapter, things)
  }),
  adapterCase('elements: remove and refuse by them', [plan], async (adapter) => {
    await insertAll(adapter, 'things', things)
    const found = rejected(0, 'found')
    for (const refuse of [eq(TAGS, 'a'), oneOf(LINKS, ['none', 'b']), allOf(eq(TAGS, 'b'), eq(S, 'x'))])
      await checkWrite(adapter, [inThings.refuse(refuse)], found)
    const has = ({ tags }: StoredDocument, tag: string): boolean => Array.isArray(tags) && tags.includes(tag)
    const left = things.filter((document) => !has(document, 'a') && !has(document, 'b'))
    const removed = things.length - left.length
    const remove = oneOf(TAGS, ['a', 'b'])
    await checkWrite(adapter, [inThings.remove(remove, removed + 1)], rejected(0, 'changed'))
    const steps: readonly WriteStep[] = [
      inThings.remove(remove, removed),
      inThings.refuse(eq(TAGS, 'a')),
      inThings.insert(documentOf('new', { tags: ['b'] })),
      inThings.remove(eq(TAGS, 'b'), 1),
    ]
    await checkWrite(adapter, steps, removing(removed + 1))
    await checkStored(adapter, 'things', left, 'after removes by elements')
    await checkAll(adapter, left)
  }),
  {
    name: 'elements: names that break statements, and that read the same when joined',
    run(storage) {
      const fields = ['order', 'rowid', 'document', 'toString', 'a_b', 'x'.repeat(63)].map((name) =>
        fieldOf(name, 'string', true),
      )
      const alike = [insideOf('a', 'string', 'b.c'), insideOf('a.b', 'string', 'c')]
      const indexes = [...fields, ...alike].map((field) => [false, field, S] as const)
      return withAdapter(storage, [planOf('things', ...indexes)], async (adapter) => {
        const texts = ["'; drop table x;--", '"', '\\', '$1', '?1', '%', '{}', '\u2028']
        const all = texts.map((text, i) =>
          documentOf(`t${i}`, {
            ...textsIn(fields, text),
            s: text,
            a: i % 2 === 0 ? [{ b: { c: text } }] : { b: [{ c: text }] },
          }),
        )
        await insertAll(adapter, 'things', all)
        for (const field of [...fields, ...alike])
          for (const value of [...texts, field.path])
            await checkFound(adapter, 'things', all, eq(field, value))
      })
    },
  },
  {
    name: 'elements: a thousand of the greatest length, beside other long texts',
    run(storage) {
      const [t, u, w] = ['t', 'u', 'w'].map((path) => fieldOf(path, 'string'))
      if (!t || !u || !w) throw new Error('unreachable')
      const indexes = [[false, t, TAGS, u, w] as const, [false, TAGS] as const, [false, t, u, TAGS] as const]
      return withAdapter(storage, [planOf('things', ...indexes)], async (adapter) => {
        const tags = Array.from({ length: 1000 }, (_, i) => noise(2 * i + 1))
        const long = documentOf('long', { t: noise(2), u: noise(4), w: noise(6), tags })
        const all = [long, documentOf('short', { t: 't', tags: tags.slice(0, 2) })]
        for (const insert of all) await checkWrite(adapter, [inThings.insert(insert)], done)
        for (const tag of tags.filter((_, i) => i % 250 < 2)) {
          await checkFound(adapter, 'things', all, eq(TAGS, tag))
          await checkFound(adapter, 'things', all, allOf(eq(t, String(long.t)), eq(TAGS, tag)))
          await checkFound(
            adapter,
            'things',
            all,
            allOf(eq(t, String(long.t)), eq(u, String(long.u)), eq(TAGS, tag)),
          )
        }
        const fewer = { ...long, _version: 2, tags: tags.slice(1) }
        await checkWrite(adapter, [inThings.replace(fewer, 1)], done)
        const now = [fewer, ...all.slice(1)]
        await checkFound(adapter, 'things', now, oneOf(TAGS, tags.slice(0, 3)))
      })
    },
  },
]

/** Returns properties: for each field, an array of the text and the field's path. */
const textsIn = (fields: readonly FieldRef[], text: string) =>
  Object.fromEntries(fields.map(({ path }) => [path, [text, path]]))
