import { everything } from '../../../../core/filter/filter.js'
import type { StorageAdapter, WriteResult, WriteStep } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf } from '../check/documents.js'
import { withAdapter } from '../check/with-adapter.js'

const S = fieldOf('s', 'string')
const PLANS = [planOf('things', [true, S]), planOf('others')]

const a = documentOf('a', { s: 'a' })
const b = documentOf('b', { s: 'b' })
const c = documentOf('c', { s: 'c' })
const done: WriteResult = { ok: true, removed: 0 }

const atomicCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase => ({
  name: `steps: ${name}`,
  run: (storage) =>
    withAdapter(storage, PLANS, async (adapter) => {
      await insertAll(adapter, 'things', [a, b])
      await run(adapter)
    }),
})

/** Steps that all succeed if they run in this order. */
const GOOD: readonly WriteStep[] = [
  { in: 'things', insert: c },
  { in: 'things', replace: { _id: 'a', _version: 2, s: 'free' }, version: 1 },
  { in: 'things', remove: eq(ID, 'b'), expect: 1 },
  { in: 'others', insert: documentOf('o', { s: 'c' }) },
  { in: 'things', insert: documentOf('d', { s: 'b' }) },
]

type Failure = Extract<WriteResult, { readonly ok: false }>

/** Steps that fail wherever they are inserted between the good steps. */
const BAD: readonly (readonly [step: WriteStep, why: Omit<Failure, 'ok' | 'step'>])[] = [
  [
    { in: 'things', insert: documentOf('a') },
    { reason: 'unique', fields: ['_id'] },
  ],
  [{ in: 'things', replace: { _id: 'a', _version: 9 }, version: 8 }, { reason: 'changed' }],
  [{ in: 'things', replace: { _id: 'gone', _version: 2 }, version: 1 }, { reason: 'changed' }],
  [{ in: 'things', remove: eq(S, 'nothing'), expect: 1 }, { reason: 'changed' }],
  [{ in: 'others', require: 'a' }, { reason: 'missing' }],
  [{ in: 'things', require: 'a', version: 9 }, { reason: 'changed' }],
  [{ in: 'others', require: 'a', version: 2 }, { reason: 'missing' }],
  [{ in: 'things', refuse: eq(ID, 'a') }, { reason: 'found' }],
]

const failures = BAD.map(([bad, why]) => {
  const [kind = ''] = ['insert', 'replace', 'remove', 'require', 'refuse'].filter((name) => name in bad)
  const what = 'version' in bad ? `${kind} of version ${bad.version}` : kind
  return atomicCase(`a failing ${what} at every place leaves nothing behind`, async (adapter) => {
    for (let place = 0; place <= GOOD.length; place++) {
      const steps = [...GOOD.slice(0, place), bad, ...GOOD.slice(place)]
      await checkWrite(adapter, steps, { ok: false, step: place, ...why })
      await checkStored(adapter, 'things', [a, b], `after a failure of step ${place}`)
      await checkStored(adapter, 'others', [], `after a failure of step ${place}`)
    }
    // The rejected writes must not have reserved any unique value.
    await checkWrite(adapter, GOOD, { ok: true, removed: 1 })
  })
})

/**
 * Cases for writes of several steps: either all steps take effect or none, and each step sees the effects of those
 * before it.
 */
export const atomicCases: readonly AdapterCase[] = [
  ...failures,

  atomicCase('the first that fails is told, and none behind it is done', (adapter) =>
    checkWrite(
      adapter,
      [
        { in: 'things', insert: c },
        { in: 'things', require: 'gone' },
        { in: 'things', insert: documentOf('a') },
      ],
      { ok: false, step: 1, reason: 'missing' },
    ),
  ),

  atomicCase('a value that a step removed is free for the next', async (adapter) => {
    const again = documentOf('again', { s: 'a' })
    await checkWrite(
      adapter,
      [
        { in: 'things', remove: eq(ID, 'a') },
        { in: 'things', insert: again },
        { in: 'things', remove: eq(ID, 'b') },
        { in: 'things', insert: documentOf('b', { n: 1 }) },
      ],
      { ok: true, removed: 2 },
    )
    await checkStored(adapter, 'things', [again, documentOf('b', { n: 1 })], 'after the write')
  }),

  atomicCase('a value that a step took is taken for the next', async (adapter) => {
    const twin = documentOf('twin', { s: 'c' })
    const steps: readonly WriteStep[] = [
      { in: 'things', insert: c },
      { in: 'things', insert: twin },
    ]
    await checkWrite(adapter, steps, { ok: false, step: 1, reason: 'unique', fields: ['s'] })
    const same: readonly WriteStep[] = [
      { in: 'things', insert: c },
      { in: 'things', insert: documentOf('c') },
    ]
    await checkWrite(adapter, same, { ok: false, step: 1, reason: 'unique', fields: ['_id'] })
    await checkStored(adapter, 'things', [a, b], 'after refused twins')
    await checkWrite(adapter, [{ in: 'things', insert: twin }], done)
  }),

  atomicCase('an inserted document can be replaced, required and removed', async (adapter) => {
    const changed = { ...c, _version: 2, n: 1 }
    await checkWrite(
      adapter,
      [
        { in: 'things', insert: c },
        { in: 'things', replace: changed, version: 1 },
        { in: 'things', require: 'c' },
        { in: 'things', insert: documentOf('d', { s: 'd' }) },
        { in: 'things', remove: eq(S, 'd'), expect: 1 },
      ],
      { ok: true, removed: 1 },
    )
    await checkStored(adapter, 'things', [a, b, changed], 'after the write')
  }),

  atomicCase('a document is replaced twice, each time at its version', async (adapter) => {
    const [second, third] = [
      { ...a, _version: 2 },
      { ...a, _version: 3 },
    ]
    const twice = (version: number): readonly WriteStep[] => [
      { in: 'things', replace: second, version: 1 },
      { in: 'things', replace: third, version },
    ]
    await checkWrite(adapter, twice(1), { ok: false, step: 1, reason: 'changed' })
    await checkWrite(adapter, twice(2), done)
    await checkStored(adapter, 'things', [third, b], 'after the write')
  }),

  atomicCase('a removed document is missing for the next', async (adapter) => {
    const remove: WriteStep = { in: 'things', remove: eq(ID, 'a') }
    const refused: readonly (readonly [WriteStep, Failure['reason']])[] = [
      [{ in: 'things', require: 'a' }, 'missing'],
      [{ in: 'things', replace: a, version: 1 }, 'changed'],
      [{ in: 'things', remove: eq(ID, 'a'), expect: 1 }, 'changed'],
    ]
    for (const [step, reason] of refused) {
      await checkWrite(adapter, [remove, step], { ok: false, step: 1, reason })
    }
    await checkWrite(adapter, [remove, { in: 'things', refuse: eq(S, 'a') }], { ok: true, removed: 1 })
    await checkStored(adapter, 'things', [b], 'after the write')
  }),

  atomicCase('refuse finds what a step inserted, or made match', async (adapter) => {
    const found: WriteResult = { ok: false, step: 1, reason: 'found' }
    const refuse: WriteStep = { in: 'things', refuse: eq(S, 'c') }
    await checkWrite(adapter, [{ in: 'things', insert: c }, refuse], found)
    await checkWrite(adapter, [{ in: 'things', replace: { ...a, s: 'c' }, version: 1 }, refuse], found)
    await checkWrite(adapter, [refuse, { in: 'things', insert: c }], done)
    await checkWrite(adapter, [{ in: 'things', remove: everything }, refuse], { ok: true, removed: 3 })
  }),

  atomicCase('two documents cannot swap a unique value step by step', async (adapter) => {
    const steps: readonly WriteStep[] = [
      { in: 'things', replace: { _id: 'a', _version: 2, s: 'b' }, version: 1 },
      { in: 'things', replace: { _id: 'b', _version: 2, s: 'a' }, version: 1 },
    ]
    await checkWrite(adapter, steps, { ok: false, step: 0, reason: 'unique', fields: ['s'] })
    await checkStored(adapter, 'things', [a, b], 'after a refused swap')
  }),

  atomicCase('five hundred documents are one write', async (adapter) => {
    const many = Array.from({ length: 500 }, (_, i) => documentOf(`m${i}`, { s: `m${i}` }))
    const steps = many.map((insert): WriteStep => ({ in: 'things', insert }))
    const failing: WriteStep = { in: 'things', insert: documentOf('last', { s: 'm250' }) }
    await checkWrite(adapter, [...steps, failing], { ok: false, step: 500, reason: 'unique', fields: ['s'] })
    await checkStored(adapter, 'things', [a, b], 'after a failure of the last')
    await checkWrite(adapter, steps, done)
    await checkStored(adapter, 'things', [a, b, ...many], 'after the write')
  }),
]
