import { nothing } from '../../../../../core/filter/filter.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../../../../../core/storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, checkSame, print } from '../../check/check.js'
import { removing, stepsIn } from '../../check/check-write.js'
import { documentOf, eq, fieldOf, ID, insertAll, planOf, queryOf } from '../../check/documents.js'
import { checkOneWinner, race, times, type Write } from '../../check/race.js'
import { pairCase } from '../../check/with-adapter.js'

const inThings = stepsIn('things')
const inRefs = stepsIn('refs')

const S = fieldOf('s', 'string')
const REF = fieldOf('ref', 'string')

const next = (_id: string): StoredDocument => ({ _id, _version: 2 })

/** For each kind of `require` step: a step that requires a document that another write changes. */
const HOLDS: readonly (readonly [what: string, step: (id: string) => WriteStep])[] = [
  ['requires', (id) => inThings.require(id)],
  ['requires in a version', (id) => inThings.require(id, 1)],
  ['requires to match', (id) => ({ in: 'things', require: id, where: eq(S, 'a') })],
]

const CHANGES: readonly (readonly [what: string, step: (id: string) => WriteStep])[] = [
  ['replaces', (id) => inThings.replace({ ...next(id), s: 'a' }, 1)],
  ['removes', (id) => inThings.remove(eq(ID, id), 1)],
]

/**
 * Cases of two writes, A and B, which both insert a document. A changes a document that B requires. A fails if B's
 * document exists, and B fails if A's does, so only one write may succeed.
 */
const looks: readonly AdapterCase[] = HOLDS.flatMap(([held, hold]) =>
  CHANGES.map(([changed, change]) =>
    pairCase(
      `race: one of two writes that refuse each other succeeds, if one ${changed} a document and one ${held} it`,
      [planOf('things'), planOf('marks', [false, S])],
      async (...adapters) => {
        for (let round = 0; round < 20; round++) await raceTwoLooks(adapters, round, change, hold)
      },
    ),
  ),
)

async function raceTwoLooks(
  adapters: readonly [StorageAdapter, StorageAdapter],
  round: number,
  change: (id: string) => WriteStep,
  hold: (id: string) => WriteStep,
): Promise<void> {
  const id = `t${round}`
  await insertAll(adapters[0], 'things', [documentOf(id, { s: 'a' })])
  const write = (step: WriteStep, own: string, other: string): Write => [
    step,
    { in: 'marks', refuse: eq(S, `${other}${round}`) },
    { in: 'marks', insert: documentOf(`${own}${round}`, { s: `${own}${round}` }) },
  ]
  const changing = write(change(id), 'a', 'b')
  const holding = write(hold(id), 'b', 'a')
  const results = await race(adapters, round % 2 === 0 ? [changing, holding] : [holding, changing])
  const winners = results.filter(({ ok }) => ok)
  check(winners.length === 1, `round ${round}: exactly one of two writes must succeed: ${print(results)}`)
}

/** Cases with many simultaneous writes that depend on documents without naming their ids. */
export const lookRaceCases: readonly AdapterCase[] = [
  ...looks,
  pairCase(
    'race: one of 20 inserts that refuse each other succeeds, after a change of one document',
    [planOf('things', [false, S]), planOf('turns')],
    async (...adapters) => {
      for (const value of ['a', 'b', 'c']) {
        const writes = times(
          20,
          (i): Write => [
            { in: 'turns', insert: documentOf('turn') },
            { in: 'turns', remove: eq(ID, 'turn') },
            inThings.refuse(eq(S, value)),
            inThings.insert(documentOf(`${value}${i}`, { s: value })),
          ],
        )
        checkOneWinner(await race(adapters, writes), 'found', `inserts of ${value}`)
        checkSame(await adapters[0].count('things', eq(S, value), {}), 1, `documents with ${value}`)
      }
    },
  ),
  pairCase(
    'race: one of 20 inserts that refuse each other succeeds, with turns',
    [planOf('things', [false, S])],
    async (...adapters) => {
      for (const value of ['a', 'b', 'c']) {
        const writes = times(
          20,
          (i): Write => [
            { in: 'things', refuse: eq(S, value), turn: 'alone' },
            inThings.insert(documentOf(`${value}${i}`, { s: value })),
          ],
        )
        checkOneWinner(await race(adapters, writes), 'found', `inserts of ${value}`)
      }
    },
  ),
  pairCase(
    'race: one of two writes that refuse each other succeeds, with turns',
    [planOf('things', [false, S]), planOf('marks', [false, S])],
    async (...adapters) => {
      for (const round of times(20, (i) => i)) {
        const value = `v${round}`
        const write = (looked: string, added: string): Write => [
          { in: looked, refuse: eq(S, value), turn: 'shared' },
          { in: added, refuse: nothing, turn: 'alone' },
          { in: added, insert: documentOf(value, { s: value }) },
        ]
        const results = await race(adapters, [write('things', 'marks'), write('marks', 'things')])
        checkOneWinner(results, 'found', `round ${round}`)
      }
    },
  ),
  pairCase(
    'race: documents removed by a property, after a change of their owner, do not come back',
    [planOf('owners'), planOf('refs', [false, REF])],
    async (...adapters) => {
      for (const round of times(30, (i) => i)) {
        const owner = `o${round}`
        await insertAll(adapters[0], 'owners', [documentOf(owner)])
        await insertAll(adapters[1], 'refs', [documentOf(`old${round}`, { ref: owner })])
        const add = (i: number): Write => [
          { in: 'owners', require: owner, version: 1 },
          inRefs.insert(documentOf(`new${round}-${i}`, { ref: owner })),
        ]
        const clear: Write = [
          { in: 'owners', replace: next(owner), version: 1 },
          inRefs.remove(eq(REF, owner)),
        ]
        const results = await race(adapters, [add(0), add(1), clear, add(2), add(3)])
        check(results[2]?.ok === true, `the removal was rejected: ${print(results[2])}`)
        const added = results.filter(({ ok }, i) => ok && i !== 2).length
        checkSame(results[2], removing(1 + added), `round ${round}: result of the removal`)
        checkSame(
          await adapters[1].count('refs', eq(REF, owner), {}),
          0,
          `round ${round}: the number of documents that are left`,
        )
      }
    },
  ),
]

const N = fieldOf('n', 'integer')

/** Increments `n` of the counter. Tries again if another write came first. */
async function increment(adapter: StorageAdapter): Promise<void> {
  // An attempt fails only if another writer succeeds, so the number of attempts is limited.
  for (let attempt = 0; attempt < 1000; attempt++) {
    const [document] = await adapter.list('things', queryOf({ filter: eq(ID, 'counter') }))
    check(
      document !== undefined && typeof document.n === 'number',
      'the document counter, which was inserted, is missing',
    )
    const version = document._version
    const replace = { ...document, _version: version + 1, n: document.n + 1 }
    if ((await adapter.write([inThings.replace(replace, version)], {})).ok) return
  }
  throw new Error('a counter could not be replaced at its own version in 1000 attempts')
}

/**
 * Sets the number of one document to the highest number of all documents plus one, and requires that the other
 * documents are unchanged. Tries again if another write came first.
 */
async function exceed(adapter: StorageAdapter, i: number): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const all = (await adapter.list('things', queryOf())).filter(({ n }) => typeof n === 'number')
    const [own, ...others] = [...all.slice(i % all.length), ...all.slice(0, i % all.length)]
    check(own !== undefined, 'the documents that were inserted are missing')
    const n = 1 + Math.max(...all.map((document) => Number(document.n)))
    const requires = others.map(({ _id, _version }): WriteStep => inThings.require(_id, _version))
    const ordered = i % 2 === 0 ? requires : requires.reverse()
    const replace = { ...own, _version: own._version + 1, n }
    const there: WriteStep = inThings.require('there')
    const steps: Write = [...ordered, inThings.replace(replace, own._version), there]
    const result = await adapter.write(steps, {})
    if (result.ok) return
    checkSame(result.reason, 'changed', 'the reason to reject a write because another came first')
  }
  throw new Error('a document could not be replaced at its own version in 1000 attempts')
}

/** Cases with many simultaneous writes from two connections. */
export const raceCases: readonly AdapterCase[] = [
  pairCase(
    'race: one of 30 inserts of a unique value succeeds',
    [planOf('things', [true, S])],
    async (...adapters) => {
      for (const value of ['a', 'b', 'c', 'd']) {
        const writes = times(30, (i): Write => [inThings.insert(documentOf(`${value}${i}`, { s: value }))])
        checkOneWinner(await race(adapters, writes), 'unique', `inserts of ${value}`)
        checkSame(await adapters[0].count('things', eq(S, value), {}), 1, `documents with ${value}`)
      }
    },
  ),
  pairCase('race: one of 30 inserts of an _id succeeds', [planOf('things')], async (...adapters) => {
    const writes = times(30, (n): Write => [inThings.insert(documentOf('same', { n }))])
    checkOneWinner(await race(adapters, writes), 'unique', 'inserts of one _id')
  }),
  pairCase(
    'race: one of 30 inserts of two unique values together succeeds',
    [planOf('things', [true, S, N])],
    async (...adapters) => {
      const writes = times(
        30,
        (i): Write => [
          inThings.insert(documentOf(`other${i}`, { s: 'a', n: i + 2 })),
          inThings.insert(documentOf(`same${i}`, { s: 'a', n: 1 })),
        ],
      )
      checkOneWinner(await race(adapters, writes), 'unique', 'inserts of one pair')
      const left = await adapters[1].list('things', queryOf())
      checkSame(left.length, 2, 'documents of the one write that succeeded')
    },
  ),
  pairCase('race: one of 30 replaces of a version succeeds', [planOf('things')], async (...adapters) => {
    await insertAll(adapters[0], 'things', [documentOf('x')])
    for (const version of times(5, (i) => i + 1)) {
      const writes = times(
        30,
        (n): Write => [inThings.replace({ _id: 'x', _version: version + 1, n }, version)],
      )
      checkOneWinner(await race(adapters, writes), 'changed', `replaces of version ${version}`)
    }
  }),
  pairCase('race: no increment is lost', [planOf('things')], async (first, second) => {
    await insertAll(first, 'things', [documentOf('counter', { n: 0 })])
    const workers = times(10, async (i) => {
      for (let round = 0; round < 20; round++) await increment(i % 2 === 0 ? first : second)
    })
    await Promise.all(workers)
    const counter = await first.list('things', queryOf())
    checkSame(counter, [{ _id: 'counter', _version: 201, n: 200 }], 'the counter after 200 increments')
  }),
  pairCase(
    'race: a document cannot be removed while another write requires it',
    [planOf('targets'), planOf('refs', [false, REF])],
    async (...adapters) => {
      for (const round of times(30, (i) => i)) {
        const target = `t${round}`
        await insertAll(adapters[0], 'targets', [documentOf(target)])
        const refer = (i: number): Write => [
          { in: 'targets', require: target },
          inRefs.insert(documentOf(`r${round}-${i}`, { ref: target })),
        ]
        const remove: Write = [
          { in: 'targets', remove: eq(ID, target), expect: 1 },
          inRefs.refuse(eq(REF, target)),
        ]
        // Rounds alternate between two orders of the writes.
        const writes = round % 2 === 0 ? [refer(0), remove, refer(1)] : [remove, refer(0), refer(1)]
        const results = await race(adapters, writes)
        const targets = await adapters[0].count('targets', eq(ID, target), {})
        const references = await adapters[1].count('refs', eq(REF, target), {})
        check(
          targets === 1 || references === 0,
          `a removed document still has ${references} references: ${print(results)}`,
        )
        checkSame(
          results.filter(({ ok }) => ok).length,
          references + (1 - targets),
          `round ${round}: the number of writes that report success`,
        )
        check(
          targets === 0 || references > 0,
          `exactly one side must succeed, but neither the removal nor a reference did: ${print(results)}`,
        )
      }
    },
  ),
  pairCase('race: crossing writes both end', [planOf('things', [true, S])], async (...adapters) => {
    await insertAll(adapters[0], 'things', [documentOf('x'), documentOf('y')])
    for (const version of times(20, (i) => i + 1)) {
      const replace = (_id: string): WriteStep => inThings.replace({ _id, _version: version + 1 }, version)
      const results = await race(adapters, [
        [replace('x'), replace('y')],
        [replace('y'), replace('x')],
      ])
      checkOneWinner(results, 'changed', 'replaces of two documents in opposite order')
    }
  }),
  pairCase(
    'race: of two writes that each change what the other requires one succeeds',
    [planOf('things'), planOf('others')],
    async (...adapters) => {
      for (const round of times(40, (i) => i)) {
        const a = { collection: 'things', id: `a${round}` }
        const b = { collection: round % 2 === 0 ? 'things' : 'others', id: `b${round}` }
        for (const { collection, id } of [a, b]) await insertAll(adapters[0], collection, [documentOf(id)])
        const write = (required: typeof a, changed: typeof a): Write => [
          { in: required.collection, require: required.id, version: 1 },
          { in: changed.collection, replace: { _id: changed.id, _version: 2 }, version: 1 },
        ]
        checkOneWinner(await race(adapters, [write(a, b), write(b, a)]), 'changed', `round ${round}`)
      }
    },
  ),
  pairCase(
    'race: the required documents of a write are unchanged until it commits, in any order',
    [planOf('things')],
    async (first, second) => {
      const ids = times(6, (i) => `t${i}`)
      await insertAll(first, 'things', [...ids.map((id) => documentOf(id, { n: 0 })), documentOf('there')])
      const workers = times(8, async (i) => {
        for (let round = 0; round < 5; round++) await exceed(i % 2 === 0 ? first : second, i)
      })
      await Promise.all(workers)
      const numbers = (await first.list('things', queryOf())).map(({ n }) => Number(n ?? 0))
      checkSame(
        Math.max(...numbers),
        40,
        'the highest number after 40 writes, each of which exceeds the highest number by one',
      )
    },
  ),
]
