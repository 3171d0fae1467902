import { everything } from '../../../../core/filter/filter.js'
import type { StorageAdapter, StoredDocument, WriteResult, WriteStep } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf } from '../check/documents.js'
import { adapterCase } from '../check/with-adapter.js'

const inThings = stepsIn('things')
const inOthers = stepsIn('others')

const S = fieldOf('s', 'string')
const PLANS = [planOf('things', [true, S]), planOf('others')]

const a = documentOf('a', { s: 'a' })
const b = documentOf('b', { s: 'b' })
const c = documentOf('c', { s: 'c' })

const atomicCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase =>
  adapterCase(`steps: ${name}`, PLANS, async (adapter) => {
    await insertAll(adapter, 'things', [a, b])
    await run(adapter)
  })

/** Steps that all succeed if they run in this order. */
const GOOD: readonly WriteStep[] = [
  inThings.insert(c),
  inThings.replace({ _id: 'a', _version: 2, s: 'free' }, 1),
  inThings.remove(eq(ID, 'b'), 1),
  inOthers.insert(documentOf('o', { s: 'c' })),
  inThings.insert(documentOf('d', { s: 'b' })),
]

type Failure = Extract<WriteResult, { readonly ok: false }>

/** Steps that fail wherever they are inserted between the good steps. */
const BAD: readonly (readonly [step: WriteStep, why: Omit<Failure, 'ok' | 'step'>])[] = [
  [inThings.insert(documentOf('a')), { reason: 'unique', fields: ['_id'] }],
  [inThings.replace({ _id: 'a', _version: 9 }, 8), { reason: 'changed' }],
  [inThings.replace({ _id: 'gone', _version: 2 }, 1), { reason: 'changed' }],
  [inThings.remove(eq(S, 'nothing'), 1), { reason: 'changed' }],
  [inOthers.require('a'), { reason: 'missing' }],
  [inThings.require('a', 9), { reason: 'changed' }],
  [inOthers.require('a', 2), { reason: 'missing' }],
  [inThings.refuse(eq(ID, 'a')), { reason: 'found' }],
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
    await checkWrite(adapter, GOOD, removing(1))
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
      [inThings.insert(c), inThings.require('gone'), inThings.insert(documentOf('a'))],
      rejected(1, 'missing'),
    ),
  ),

  atomicCase('a value that a step removed is free for the next', async (adapter) => {
    const again = documentOf('again', { s: 'a' })
    await checkWrite(
      adapter,
      [
        inThings.remove(eq(ID, 'a')),
        inThings.insert(again),
        inThings.remove(eq(ID, 'b')),
        inThings.insert(documentOf('b', { n: 1 })),
      ],
      removing(2),
    )
    await checkStored(adapter, 'things', [again, documentOf('b', { n: 1 })], 'after the write')
  }),

  atomicCase('a value that a step took is taken for the next', async (adapter) => {
    const twin = documentOf('twin', { s: 'c' })
    const steps: readonly WriteStep[] = [inThings.insert(c), inThings.insert(twin)]
    await checkWrite(adapter, steps, rejected(1, 'unique', 's'))
    const same: readonly WriteStep[] = [inThings.insert(c), inThings.insert(documentOf('c'))]
    await checkWrite(adapter, same, rejected(1, 'unique', '_id'))
    await checkStored(adapter, 'things', [a, b], 'after refused twins')
    await checkWrite(adapter, [inThings.insert(twin)], done)
  }),

  atomicCase('an inserted document can be replaced, required and removed', async (adapter) => {
    const changed = { ...c, _version: 2, n: 1 }
    await checkWrite(
      adapter,
      [
        inThings.insert(c),
        inThings.replace(changed, 1),
        inThings.require('c'),
        inThings.insert(documentOf('d', { s: 'd' })),
        inThings.remove(eq(S, 'd'), 1),
      ],
      removing(1),
    )
    await checkStored(adapter, 'things', [a, b, changed], 'after the write')
  }),

  atomicCase('a document is replaced twice, each time at its version', async (adapter) => {
    const [second, third] = [
      { ...a, _version: 2 },
      { ...a, _version: 3 },
    ]
    const twice = (version: number): readonly WriteStep[] => [
      inThings.replace(second, 1),
      inThings.replace(third, version),
    ]
    await checkWrite(adapter, twice(1), rejected(1, 'changed'))
    await checkWrite(adapter, twice(2), done)
    await checkStored(adapter, 'things', [third, b], 'after the write')
  }),

  atomicCase('a removed document is missing for the next', async (adapter) => {
    const remove: WriteStep = inThings.remove(eq(ID, 'a'))
    const refused: readonly (readonly [WriteStep, Failure['reason']])[] = [
      [inThings.require('a'), 'missing'],
      [inThings.replace(a, 1), 'changed'],
      [inThings.remove(eq(ID, 'a'), 1), 'changed'],
    ]
    for (const [step, reason] of refused) {
      await checkWrite(adapter, [remove, step], rejected(1, reason))
    }
    await checkWrite(adapter, [remove, inThings.refuse(eq(S, 'a'))], removing(1))
    await checkStored(adapter, 'things', [b], 'after the write')
  }),

  atomicCase('refuse finds what a step inserted, or made match', async (adapter) => {
    const found: WriteResult = rejected(1, 'found')
    const refuse: WriteStep = inThings.refuse(eq(S, 'c'))
    await checkWrite(adapter, [inThings.insert(c), refuse], found)
    await checkWrite(adapter, [inThings.replace({ ...a, s: 'c' }, 1), refuse], found)
    await checkWrite(adapter, [refuse, inThings.insert(c)], done)
    await checkWrite(adapter, [inThings.remove(everything), refuse], removing(3))
  }),

  atomicCase('two documents cannot swap a unique value step by step', async (adapter) => {
    const steps: readonly WriteStep[] = [
      inThings.replace({ _id: 'a', _version: 2, s: 'b' }, 1),
      inThings.replace({ _id: 'b', _version: 2, s: 'a' }, 1),
    ]
    await checkWrite(adapter, steps, rejected(0, 'unique', 's'))
    await checkStored(adapter, 'things', [a, b], 'after a refused swap')
  }),

  atomicCase('a step cannot take a value that a later step gives up', async (adapter) => {
    const give = (document: StoredDocument, s: string): WriteStep =>
      inThings.replace({ ...document, _version: 2, s }, 1)
    for (const [first, second] of [
      [a, b],
      [b, a],
    ] as const) {
      const taking = give(first, String(second.s))
      await checkWrite(adapter, [taking, give(second, 'c')], rejected(0, 'unique', 's'))
      await checkStored(adapter, 'things', [a, b], 'after a refused step')
    }
    await checkWrite(adapter, [give(b, 'c'), give(a, 'b')], done)
  }),

  atomicCase('five hundred replaced documents are one write', async (adapter) => {
    const many = Array.from({ length: 500 }, (_, i) => documentOf(`m${i}`, { s: `m${i}` }))
    await checkWrite(adapter, many.map(inThings.insert), done)
    const replaced = many.map((document, i) => ({
      ...document,
      _version: 2,
      s: i < 250 ? document.s : `n${i}`,
    }))
    const steps = replaced.map((document) => inThings.replace(document, 1))
    const stale = inThings.replace({ ...a, _version: 8 }, 7)
    await checkWrite(adapter, [...steps, stale], rejected(500, 'changed'))
    await checkWrite(adapter, [stale, ...steps], rejected(0, 'changed'))
    const taken = inThings.replace({ ...a, _version: 2, s: 'm100' }, 1)
    await checkWrite(adapter, [...steps, taken], rejected(500, 'unique', 's'))
    await checkStored(adapter, 'things', [a, b, ...many], 'after refused writes')
    await checkWrite(adapter, steps, done)
    await checkStored(adapter, 'things', [a, b, ...replaced], 'after the write')
  }),

  atomicCase('five hundred documents are one write', async (adapter) => {
    const many = Array.from({ length: 500 }, (_, i) => documentOf(`m${i}`, { s: `m${i}` }))
    const steps = many.map(inThings.insert)
    const failing: WriteStep = inThings.insert(documentOf('last', { s: 'm250' }))
    await checkWrite(adapter, [...steps, failing], rejected(500, 'unique', 's'))
    await checkStored(adapter, 'things', [a, b], 'after a failure of the last')
    await checkWrite(adapter, steps, done)
    await checkStored(adapter, 'things', [a, b, ...many], 'after the write')
  }),
]
