import type { StorageAdapter, StoredDocument, WriteStep } from '../../../../../core/storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, print } from '../../check/check.js'
import { checkWrite, done, plainResult, removing, stepsIn } from '../../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf } from '../../check/documents.js'
import { race, times, type Write } from '../../check/race.js'
import { adapterCase, pairCase } from '../../check/with-adapter.js'

const inThings = stepsIn('things')
const inOthers = stepsIn('others')

const N = fieldOf('n', 'integer')
const REF = fieldOf('ref', 'string')
const PLANS = [planOf('things', [true, N], [false, REF]), planOf('others', [false, REF])]

/** Returns the steps that give numbers to documents of version 1 which have each other's. The first is emptied first. */
function exchange(numbers: readonly (readonly [id: string, n: number])[]): readonly WriteStep[] {
  const [first, ...others] = numbers
  const next = ([_id, n]: readonly [string, number]): StoredDocument => ({ _id, _version: 2, n })
  if (!first) return []
  return [
    inThings.replace({ _id: first[0], _version: 2 }, 1),
    ...others.map((one) => inThings.replace(next(one), 1)),
    inThings.replace(next(first), 2),
  ]
}

const numbered = (ids: readonly string[]): readonly StoredDocument[] =>
  ids.map((id, i) => documentOf(id, { n: i + 1 }))

/** Two documents that refer to each other, the steps that create them, and the steps that delete them together. */
function createCycle(id: string) {
  const [here, there] = [documentOf(`a${id}`, { ref: `b${id}` }), documentOf(`b${id}`, { ref: `a${id}` })]
  return {
    here,
    there,
    create: [
      inThings.insert(here),
      inOthers.insert(there),
      inThings.require(here._id),
      inOthers.require(there._id),
    ] satisfies Write,
    remove: [
      inThings.remove(eq(ID, here._id), 1),
      inOthers.remove(eq(ID, there._id), 1),
      inOthers.refuse(eq(REF, here._id)),
      inThings.refuse(eq(REF, there._id)),
    ] satisfies Write,
  }
}

/** Cases of writes whose conditions are met only after all steps: those of a batch. */
export const wholeCases: readonly AdapterCase[] = [
  ...[2, 3].map((size) =>
    adapterCase(`write: ${size} documents exchange unique values in a circle`, PLANS, async (adapter) => {
      const documents = numbered(['a', 'b', 'c'].slice(0, size))
      await insertAll(adapter, 'things', documents)
      // The last document takes the number of the first, which is emptied; each other one that of its successor.
      const moved = documents.map(({ _id }, i): [string, number] => [_id, ((i + 1) % size) + 1])
      const [first = ['', 0], ...others] = moved
      await checkWrite(adapter, exchange([first, ...others.reverse()]), done)
      const expected = moved.map(([_id, n]) => ({ _id, _version: 2, n }))
      await checkStored(adapter, 'things', expected, 'after the exchange')
    }),
  ),
  adapterCase(
    'write: two documents that refer to each other come and go together',
    PLANS,
    async (adapter) => {
      const { here, there, create, remove } = createCycle('1')
      await checkWrite(adapter, create, done)
      await checkStored(adapter, 'things', [here], 'after the create')
      await checkStored(adapter, 'others', [there], 'after the create')
      await checkWrite(adapter, remove, removing(2))
      await checkStored(adapter, 'things', [], 'after the delete')
      await checkStored(adapter, 'others', [], 'after the delete')
    },
  ),
  ...[2, 3].map((size) =>
    pairCase(
      `race: ${size} documents exchange unique values while another write changes one of them`,
      PLANS,
      async (...adapters) => {
        for (const round of times(10, (i) => i)) await raceExchange(adapters, size, round)
      },
    ),
  ),
  pairCase(
    'race: documents that refer to each other come together while another write creates one of them',
    PLANS,
    async (...adapters) => {
      for (const round of times(10, (i) => i)) {
        const { here, create } = createCycle(`${round}`)
        await checkOne(adapters, round, [create, [inThings.insert({ ...here, alone: true })]])
      }
    },
  ),
  pairCase(
    'race: documents that refer to each other go together, or a new reference to one of them stays',
    PLANS,
    async (...adapters) => {
      for (const round of times(10, (i) => i)) {
        const { create, remove, here } = createCycle(`${round}`)
        await checkWrite(adapters[0], create, done)
        const refer: Write = [
          inThings.require(here._id),
          inOthers.insert(documentOf(`c${round}`, { ref: here._id })),
        ]
        await checkOne(adapters, round, [remove, refer])
      }
    },
  ),
]

/** Checks that exactly one of two simultaneous writes succeeds. */
async function checkOne(
  adapters: readonly [StorageAdapter, StorageAdapter],
  round: number,
  writes: readonly [Write, Write],
): Promise<void> {
  const [one, other] = writes
  const results = await race(adapters, round % 2 === 0 ? [one, other] : [other, one])
  check(
    results.filter(({ ok }) => ok).length === 1,
    `round ${round}: exactly one of two writes must succeed: ${print(results.map(plainResult))}`,
  )
}

async function raceExchange(
  adapters: readonly [StorageAdapter, StorageAdapter],
  size: number,
  round: number,
): Promise<void> {
  const ids = times(size, (i) => `r${round}-${i}`)
  const documents = ids.map((_id, i) => documentOf(_id, { n: 100 * round + i }))
  await insertAll(adapters[0], 'things', documents)
  const moved = ids.map((id, i): [string, number] => [id, 100 * round + ((i + 1) % size)])
  const [first = ['', 0], ...others] = moved
  const last = ids.at(-1) ?? ''
  const alone: Write = [inThings.replace({ _id: last, _version: 2, n: 100 * round + 50 }, 1)]
  await checkOne(adapters, round, [exchange([first, ...others.reverse()]), alone])
}
