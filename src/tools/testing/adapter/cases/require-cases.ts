import type { Filter } from '../../../../core/filter/filter.js'
import type { StorageAdapter, WriteResult, WriteStep } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import {
  allOf,
  checkStored,
  documentOf,
  eq,
  fieldOf,
  ID,
  insertAll,
  notOf,
  planOf,
} from '../check/documents.js'
import { parsePattern } from '../check/parse-pattern.js'
import { checkOneWinner, race, times, type Write } from '../check/race.js'
import { adapterCase, pairCase } from '../check/with-adapter.js'

const inThings = stepsIn('things')

const S = fieldOf('s', 'string')
const N = fieldOf('n', 'integer')
const REF = fieldOf('ref', 'string')
const VERSION = fieldOf('_version', 'integer')

const a = documentOf('a', { s: 'a' })
const b = documentOf('b', { s: 'b' })
const c = documentOf('c', { s: 'c' })

const requireCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase =>
  adapterCase(`require: ${name}`, [planOf('things'), planOf('others')], async (adapter) => {
    await insertAll(adapter, 'things', [a, b])
    await run(adapter)
  })

const require = (id: string, version: number): WriteStep => inThings.require(id, version)

const matching = (id: string, where: Filter): WriteStep => ({ in: 'things', require: id, where })

const changed: WriteResult = rejected(0, 'changed')
const missing: WriteResult = rejected(0, 'missing')

/** Cases for `require` steps that require a version or a condition. */
export const requireCases: readonly AdapterCase[] = [
  requireCase('a version is asked for, and nothing else of the document', async (adapter) => {
    await checkWrite(adapter, [require('a', 1)], done)
    for (const version of [0, 2, 2 ** 52]) await checkWrite(adapter, [require('a', version)], changed)
    await checkWrite(adapter, [require('d', 1)], missing)
    await checkWrite(adapter, [{ in: 'others', require: 'a', version: 1 }], missing)
    await checkWrite(adapter, [inThings.replace({ _id: 'a', _version: 2 }, 1)], done)
    await checkWrite(adapter, [require('a', 1)], changed)
    await checkWrite(adapter, [require('a', 2)], done)
    await checkWrite(adapter, [inThings.remove(eq(ID, 'a'))], removing(1))
    await checkWrite(adapter, [require('a', 2)], missing)
  }),

  requireCase('versions are told apart up to 2^53', async (adapter) => {
    for (const version of [2 ** 31, 2 ** 32 + 1, 2 ** 52 - 1, 2 ** 53 - 2]) {
      const document = { ...documentOf('e'), _version: version }
      await insertAll(adapter, 'things', [document])
      for (const other of [version - 1, version + 1]) {
        await checkWrite(adapter, [require('e', other)], changed)
        await checkWrite(adapter, [inThings.replace(document, other)], changed)
      }
      const next = { ...document, _version: version + 1 }
      await checkWrite(adapter, [require('e', version), inThings.replace(next, version)], done)
      await checkStored(adapter, 'things', [a, b, next], `after a replace of version ${version}`)
      await checkWrite(adapter, [inThings.remove(eq(VERSION, version + 1))], removing(1))
    }
  }),

  requireCase('a version is required as the steps before leave it', async (adapter) => {
    const replace: WriteStep = inThings.replace({ ...a, _version: 2 }, 1)
    const insert: WriteStep = inThings.insert({ ...c, _version: 7 })
    const again: WriteStep = inThings.insert({ ...a, _version: 5 })
    const removals = [eq(ID, 'a'), eq(S, 'a')].map((remove): WriteStep => inThings.remove(remove))
    const refused: readonly (readonly [reason: 'changed' | 'missing', step: number, WriteStep[]])[] = [
      ['changed', 1, [replace, require('a', 1)]],
      ['changed', 0, [require('a', 2), replace]],
      ['changed', 1, [insert, require('c', 1)]],
      ['missing', 0, [require('c', 7), insert]],
      ...removals.flatMap((remove): typeof refused => [
        ['missing', 1, [remove, require('a', 1)]],
        ['missing', 2, [replace, remove, require('a', 2)]],
        ['changed', 1, [remove, require('b', 2)]],
        ['changed', 2, [remove, again, require('a', 1)]],
      ]),
    ]
    for (const [reason, step, steps] of refused) await checkWrite(adapter, steps, rejected(step, reason))
    const taken: WriteStep = inThings.insert(documentOf('b'))
    for (const remove of removals) {
      const steps = [
        ...[require('a', 1), replace, require('a', 2), require('b', 1), insert, require('c', 7), remove],
        ...[require('b', 1), require('c', 7), again, require('a', 5)],
      ]
      const step = steps.length
      await checkWrite(adapter, [...steps, taken], rejected(step, 'unique', '_id'))
      await checkStored(adapter, 'things', [a, b], 'after refused requirements')
      await checkWrite(adapter, steps, removing(1))
      await checkStored(
        adapter,
        'things',
        [{ ...a, _version: 5 }, b, { ...c, _version: 7 }],
        'after the write',
      )
      const back: readonly WriteStep[] = [inThings.remove(eq(ID, 'c')), inThings.replace(a, 5)]
      await checkWrite(adapter, back, removing(1))
    }
  }),

  requireCase('a condition is asked of the document, beside its version', async (adapter) => {
    const text = { kind: 'match', field: S, pattern: parsePattern('^A$', { ignoreCase: true }) } as const
    for (const where of [eq(S, 'a'), eq(ID, 'a'), notOf(eq(S, 'b')), notOf(eq(N, 1)), allOf(), text])
      await checkWrite(adapter, [matching('a', where)], done)
    for (const where of [
      eq(S, 'b'),
      eq(ID, 'b'),
      notOf(eq(S, 'a')),
      eq(N, 1),
      notOf(allOf()),
      allOf(eq(S, 'a'), eq(N, 1)),
    ])
      await checkWrite(adapter, [matching('a', where)], changed)
    await checkWrite(adapter, [matching('b', text)], changed)
    await checkWrite(adapter, [matching('d', allOf())], missing)
    await checkWrite(adapter, [{ in: 'others', require: 'a', where: eq(S, 'a') }], missing)
    await checkWrite(adapter, [{ ...require('a', 1), where: eq(S, 'a') }], done)
    await checkWrite(adapter, [{ ...require('a', 2), where: eq(S, 'a') }], changed)
    await checkWrite(adapter, [{ ...require('a', 1), where: eq(S, 'b') }], changed)
  }),

  requireCase('several conditions are asked, and the first that fails is named', async (adapter) => {
    const holds = [matching('b', eq(S, 'b')), matching('a', eq(S, 'a')), matching('a', notOf(eq(S, 'b')))]
    await checkWrite(adapter, [...holds, ...holds], done)
    const fails = [matching('b', eq(S, 'a')), matching('a', eq(N, 1))]
    await checkWrite(adapter, [...holds, ...fails], { ...changed, step: 3 })
    await checkWrite(adapter, [...holds, require('d', 1), ...fails], { ...missing, step: 3 })
    await checkWrite(adapter, [...holds, ...fails, require('d', 1)], { ...changed, step: 3 })
    const many = times(150, (i) => documentOf(`m${String(i).padStart(3, '0')}`, { n: i }))
    await insertAll(adapter, 'things', many)
    const all = many.map(({ _id }, i) => matching(_id, eq(N, i)))
    await checkWrite(adapter, all, done)
    await checkWrite(adapter, all.with(120, matching('m120', eq(N, 1))), { ...changed, step: 120 })
  }),

  requireCase('a condition is asked of what the steps before leave', async (adapter) => {
    const replace: WriteStep = inThings.replace({ _id: 'a', _version: 2, s: 'b', n: 1 }, 1)
    const insert: WriteStep = inThings.insert(c)
    const again: WriteStep = inThings.insert({ ...a, s: 'c' })
    const removals = [eq(ID, 'a'), eq(S, 'a')].map((remove): WriteStep => inThings.remove(remove))
    const refused: readonly (readonly [reason: 'changed' | 'missing', step: number, WriteStep[]])[] = [
      ['changed', 1, [replace, matching('a', eq(S, 'a'))]],
      ['changed', 0, [matching('a', eq(S, 'b')), replace]],
      ['changed', 1, [insert, matching('c', eq(S, 'a'))]],
      ['missing', 0, [matching('c', eq(S, 'c')), insert]],
      ...removals.flatMap((remove): typeof refused => [
        ['missing', 1, [remove, matching('a', eq(S, 'a'))]],
        ['changed', 1, [remove, matching('b', eq(S, 'a'))]],
        ['changed', 2, [remove, again, matching('a', eq(S, 'a'))]],
      ]),
    ]
    for (const [reason, step, steps] of refused) await checkWrite(adapter, steps, rejected(step, reason))
    await checkStored(adapter, 'things', [a, b], 'after refused conditions')
    for (const remove of removals)
      await checkWrite(
        adapter,
        [
          matching('a', eq(S, 'a')),
          remove,
          again,
          matching('a', eq(S, 'c')),
          insert,
          matching('c', eq(S, 'c')),
        ].concat([inThings.remove(eq(ID, 'c')), inThings.replace(a, 1)]),
        removing(2),
      )
    await checkWrite(adapter, [replace, matching('a', allOf(eq(S, 'b'), eq(N, 1)))], done)
  }),

  pairCase(
    'require: race: of a reference to what matches, and a change so that it does not, one succeeds',
    [planOf('targets'), planOf('refs', [false, REF])],
    async (...adapters) => {
      for (const round of times(30, (i) => i)) {
        const id = `t${round}`
        await insertAll(adapters[0], 'targets', [documentOf(id, { s: 'a' })])
        const refer: Write = [
          { in: 'refs', insert: documentOf(`r${round}`, { ref: id, s: 'a' }) },
          { in: 'targets', require: id, where: eq(S, 'a') },
        ]
        const change: Write = [
          { in: 'targets', replace: { _id: id, _version: 2, s: 'b' }, version: 1 },
          { in: 'refs', refuse: allOf(eq(REF, id), notOf(eq(S, 'b'))) },
        ]
        const writes = round % 2 === 0 ? [refer, change] : [change, refer]
        const results = await race(adapters, writes)
        const reason = results[writes.indexOf(refer)]?.ok ? 'found' : 'changed'
        checkOneWinner(results, reason, `round ${round}`)
      }
    },
  ),

  pairCase(
    'require: race: of two writes that each change what the other requires to match one succeeds',
    [planOf('things')],
    async (...adapters) => {
      for (const round of times(30, (i) => i)) {
        const [one, other] = [`a${round}`, `b${round}`]
        await insertAll(adapters[0], 'things', [documentOf(one, { n: 0 }), documentOf(other, { n: 0 })])
        const write = (required: string, changed: string): Write => [
          matching(required, eq(N, 0)),
          inThings.replace({ _id: changed, _version: 2, n: 1 }, 1),
        ]
        const results = await race(adapters, [write(one, other), write(other, one)])
        checkOneWinner(results, 'changed', `round ${round}`)
      }
    },
  ),
]
