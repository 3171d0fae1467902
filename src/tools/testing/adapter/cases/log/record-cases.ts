import { everything, type Filter, or } from '../../../../../core/filter/filter.js'
import { compareText } from '../../../../../core/json/compare-text.js'
import type { CollectionPlan, StoredDocument, WriteStep } from '../../../../../core/storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, print } from '../../check/check.js'
import { plainResult } from '../../check/check-write.js'
import { documentOf, eq, fieldOf, ID, insertAll } from '../../check/documents.js'
import { edgeDocuments } from '../../check/edge-documents.js'
import { checkLog, findEnd, type LoggingAdapter, type PlainChange, readLog } from '../../check/plain-log.js'
import { applyPlainly, type Documents } from '../../check/plain-write.js'
import { createRandom } from '../../fuzz/random.js'
import { drawStep } from '../../fuzz/random-store.js'
import { LOGGED, logCase } from './with-log.js'

const N = fieldOf('n', 'integer')
const S = fieldOf('s', 'string')

const emptyStore = () => new Map(LOGGED.map(({ name }) => [name, new Map()]))

/** The callers that the writes of a test use in rotation. */
const CALLERS = [null, 'ann', '0190163d-8694-7000-8000-000000004001', 'a "\u{1f600}" \\ \'of\' all'] as const

/** The documents of several collections. */
type PlainStore = ReadonlyMap<string, Documents>

/**
 * Applies the steps of a write by a caller to the documents, but only if all steps succeed. Returns the changes that
 * the log must contain, or `undefined` if a step is rejected.
 */
export function recordPlainly(
  store: PlainStore,
  steps: readonly WriteStep[],
  plans: readonly CollectionPlan[],
  by: string | null = null,
): readonly PlainChange[] | undefined {
  const left = new Map([...store].map(([name, documents]) => [name, new Map(documents)]))
  const written = new Map<string, PlainChange>()
  for (const step of steps) {
    const documents = left.get(step.in) ?? new Map<string, StoredDocument>()
    const before = new Map(documents)
    if (applyPlainly(documents, step)) return undefined
    for (const id of new Set([...before.keys(), ...documents.keys()])) {
      if (before.get(id) === documents.get(id)) continue
      const key = JSON.stringify([step.in, id])
      const first = written.get(key)?.before ?? store.get(step.in)?.get(id) ?? null
      written.set(key, { in: step.in, id, before: first, after: documents.get(id) ?? null, by })
    }
  }
  for (const [name, documents] of left) {
    store.get(name)?.clear()
    for (const [id, document] of documents) store.get(name)?.set(id, document)
  }
  const omitOf = new Map(plans.flatMap(({ name, log }) => (log ? [[name, log.omit]] : [])))
  return [...written.values()]
    .filter((change) => omitOf.has(change.in) && (change.before ?? change.after))
    .sort((a, b) => compareText(a.id, b.id) || compareText(a.in, b.in))
    .map(({ before, after, ...change }) => {
      const omit = omitOf.get(change.in) ?? []
      return { ...change, before: leaveOut(before, omit), after: leaveOut(after, omit) }
    })
}

const leaveOut = (document: StoredDocument | null, omit: readonly string[]): StoredDocument | null =>
  document && {
    ...Object.fromEntries(Object.entries(document).filter(([name]) => !omit.includes(name))),
    _id: document._id,
    _version: document._version,
  }

/** Writes as several callers, and compares the log with a plain model after each write. */
async function checkWrites(
  adapter: LoggingAdapter,
  writes: readonly (readonly WriteStep[])[],
): Promise<void> {
  const store = emptyStore()
  let position = await findEnd(adapter)
  for (const [i, steps] of writes.entries()) {
    const by = CALLERS[i % CALLERS.length] ?? null
    const expected = recordPlainly(store, steps, LOGGED, by)
    const result = await adapter.write(steps, { by })
    check(
      result.ok === (expected !== undefined),
      `write of ${print(steps)} must ${expected ? 'succeed' : 'be rejected'}, but its result is ${print(plainResult(result))}`,
    )
    position = await checkLog(adapter, position, expected ?? [], `after ${print(steps)}`)
  }
}

const insert = (id: string, properties = {}, collection = 'things'): WriteStep => ({
  in: collection,
  insert: documentOf(id, properties),
})

const replace = (id: string, version: number, properties = {}, collection = 'things'): WriteStep => ({
  in: collection,
  replace: { ...properties, _id: id, _version: version + 1 },
  version,
})

const remove = (filter: Filter, collection = 'things'): WriteStep => ({ in: collection, remove: filter })

/**
 * Draws writes of up to four steps on a few documents of all collections. Some of the writes are invalid, so the
 * adapter must reject them.
 */
function drawWrites(seed: number, count: number): readonly (readonly WriteStep[])[] {
  const random = createRandom(seed)
  const store = emptyStore()
  return Array.from({ length: count }, () => {
    const left = new Map([...store].map(([name, documents]) => [name, new Map(documents)]))
    const steps: WriteStep[] = []
    for (let more = random.integer(1, 4); more > 0; more--) {
      const name = random.pick(['things', 'things', 'users', 'others'])
      const documents = left.get(name) ?? new Map()
      const step = random.chance(0.1)
        ? remove(or([eq(ID, '+'), eq(ID, '+1')]), name)
        : { ...drawStep(random, documents), in: name }
      if (random.chance(0.9) && !recordPlainly(left, [step], LOGGED)) continue
      steps.push(step)
    }
    recordPlainly(store, steps, LOGGED)
    return steps
  })
}

/** Cases for the changes that a write records. */
export const recordCases: readonly AdapterCase[] = [
  logCase('each write is recorded with what was there before', (adapter) =>
    checkWrites(adapter, [
      [insert('a', { n: 1, deep: { list: [1, { two: null }] } })],
      [replace('a', 1, { n: 2 })],
      [remove(eq(ID, 'a'))],
      [insert('a', { n: 3 })],
      [remove(eq(N, 3))],
    ]),
  ),

  logCase('what is refused, or writes nothing, is not recorded', (adapter) =>
    checkWrites(adapter, [
      [insert('a'), insert('b')],
      [insert('a')],
      [replace('a', 7)],
      [replace('c', 1)],
      [insert('c'), replace('a', 1), insert('b')],
      [remove(everything), { in: 'things', require: 'a' }],
      [remove(eq(ID, 'c'))],
      [{ in: 'things', remove: eq(ID, 'a'), expect: 2 }],
      [{ in: 'things', require: 'a' }],
      [{ in: 'things', refuse: eq(ID, 'c') }],
      [replace('a', 1), { in: 'things', refuse: eq(ID, 'b') }],
    ]),
  ),

  logCase('a write makes one change of a document, from before it to after it', (adapter) =>
    checkWrites(adapter, [
      [insert('a', { n: 1 }), replace('a', 1, { n: 2 }), replace('a', 2, { n: 3 })],
      [replace('a', 3, { n: 4 }), remove(eq(ID, 'a'))],
      [insert('a'), remove(eq(ID, 'a'))],
      [insert('a'), insert('b'), remove(everything)],
      [insert('a', { n: 1 }), insert('b', { n: 1 })],
      [remove(eq(N, 1)), insert('b', { n: 2 })],
      [remove(eq(ID, 'b')), insert('b', { n: 3 }), replace('b', 1, { n: 4 })],
      [replace('b', 2, { n: 4 }), replace('b', 3, { n: 5 }), remove(eq(N, 5)), insert('b', { n: 6 })],
    ]),
  ),

  logCase('the changes of a write lie in the order of _id, by code points', (adapter) => {
    const ids = ['b', 'a', 'B', 'ä', '\u{1f600}', '\uff5e', 'aa', 'a b', '']
    return checkWrites(adapter, [
      ids.map((id) => insert(id, { n: 1 })),
      ids.map((id) => replace(id, 1, { n: 2 })).reverse(),
      [remove(eq(ID, 'b')), replace('ä', 2, { n: 3 }), insert('Z', { n: 2 }), remove(eq(N, 2))],
    ])
  }),

  logCase('the changes of a write have one number, and those beside them another', async (adapter) => {
    const start = await findEnd(adapter)
    const writes = [
      [insert('c', { n: 1 }), insert('a'), insert('b', {}, 'users')],
      [replace('a', 1)],
      [insert('b'), insert('d')],
      [remove(or(['b', 'd'].map((id) => eq(ID, id))))],
      [remove(eq(N, 1))],
    ]
    for (const steps of writes) await adapter.write(steps, {})
    for (const limit of [1, 100]) {
      const { changes } = await readLog(adapter, start, limit)
      const told = changes.map(({ write }) => write)
      const expected = [1, 1, 1, 2, 3, 3, 4, 4, 5]
      const areRight =
        told.length === expected.length &&
        told.every((write, i) => i === 0 || (write === told[i - 1]) === (expected[i] === expected[i - 1]))
      check(areRight, `changes that belong to the writes ${expected} have the write numbers ${told}`)
    }
  }),

  logCase('collections are told apart, and one that is not logged is left out', (adapter) =>
    checkWrites(adapter, [
      [insert('a', {}, 'users'), insert('a', {}, 'others'), insert('a')],
      [insert('b', {}, 'others')],
      [replace('a', 1, { n: 1 }, 'others')],
      [replace('a', 1, { n: 1 }, 'others')],
      [remove(everything, 'others'), replace('a', 1, {}, 'users'), remove(eq(ID, 'a'))],
    ]),
  ),

  logCase('what must be left out never enters it, whatever a write does', async (adapter) => {
    const secret = (n: number) => ({ n, _hush: { password: `hush-${n}` }, _stamp: `stamp-${n}` })
    const start = await findEnd(adapter)
    await checkWrites(adapter, [
      [insert('a', secret(1), 'users')],
      [replace('a', 1, secret(2), 'users')],
      [replace('a', 2, secret(2), 'users'), insert('b', secret(3), 'users')],
      [insert('c', secret(4), 'users')],
      [remove(or([eq(ID, 'a'), eq(ID, 'c')]), 'users')],
      [remove(eq(N, 3), 'users'), insert('d', { ...secret(1), _stamp: 'x' }, 'things')],
    ])
    const { changes } = await readLog(adapter, start)
    const users = print(changes.filter((change) => change.in === 'users'))
    check(!/hush|stamp/.test(users), `a value that the log must omit is in the log: ${users}`)
  }),

  logCase('documents that arrive together each have their change', async (first, second) => {
    const start = await findEnd(first)
    const documents = Array.from({ length: 60 }, (_, i) => documentOf(`id${i}`, { n: i }))
    const callerOf = (i: number): string => `caller ${i}`
    await Promise.all(
      documents.map((document, i) =>
        (i % 2 ? first : second).write(
          [{ in: 'things', insert: document }],
          i % 3 ? { by: callerOf(i) } : {},
        ),
      ),
    )
    const { changes } = await readLog(second, start)
    const expected = documents.map((after, i) => ({
      in: 'things',
      id: after._id,
      before: null,
      after,
      by: i % 3 ? callerOf(i) : null,
    }))
    const told = changes.map(({ in: name, id, before, after, by }) =>
      print({ in: name, id, before, after, by }),
    )
    check(
      told.length === 60 && new Set(told).size === 60 && expected.every((one) => told.includes(print(one))),
      `60 simultaneous inserts must give one change each, but the log has ${told.length} changes`,
    )
  }),

  logCase('the writes of a run of migrate are marked, and no others', async (adapter) => {
    const start = await findEnd(adapter)
    const writes: readonly (readonly [steps: readonly WriteStep[], isMigration: boolean])[] = [
      [[insert('a', { n: 1 })], true],
      [[insert('b', { n: 1 })], false],
      [[insert('c', { n: 1 }), insert('d', { n: 1 })], true],
      [[replace('a', 1, { n: 2 }), replace('b', 1, { n: 2 })], true],
      [[replace('b', 2, { n: 3 })], false],
      [[remove(eq(ID, 'a'))], true],
    ]
    for (const [steps, isMigration] of writes) {
      const { ok } = await adapter.write(steps, isMigration ? { isMigration } : {})
      check(ok, 'a write was rejected')
    }
    const { changes } = await readLog(adapter, start)
    const told = changes.map(({ id, isMigration }) => [id, isMigration ?? false])
    const expected = [
      ['a', true],
      ['b', false],
      ['c', true],
      ['d', true],
      ['a', true],
      ['b', true],
      ['b', false],
      ['a', true],
    ]
    check(print(told) === print(expected), `expected ${print(expected)}, found ${print(told)}`)
  }),

  logCase('documents of every kind are recorded as they are', async (adapter) => {
    const start = await findEnd(adapter)
    await insertAll(adapter, 'things', edgeDocuments)
    const store = emptyStore()
    const steps = edgeDocuments.map((document): WriteStep => ({ in: 'things', insert: document }))
    const position = await checkLog(adapter, start, recordPlainly(store, steps, LOGGED) ?? [], 'of new ones')
    const gone = recordPlainly(store, [remove(everything)], LOGGED) ?? []
    await adapter.write([remove(everything)], {})
    await checkLog(adapter, position, gone, 'of removed ones')
  }),

  logCase('a remove by a pattern records what it removes', async (adapter) => {
    const pattern = { kind: 'sequence', parts: [{ kind: 'start' }, { kind: 'text', text: 't' }] } as const
    await checkWrites(adapter, [
      ['two', 'three', 'four', 'one'].map((s) => insert(s, { s })),
      [remove({ kind: 'match', field: S, pattern }), insert('three', { s: 'again' })],
    ])
  }),

  logCase('random writes give the log of plain maps', async (adapter) => {
    await checkWrites(adapter, drawWrites(1, 150))
  }),
]
