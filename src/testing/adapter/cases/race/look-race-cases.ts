import { nothing } from '../../../../filter/filter.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../../../../storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, checkSame, print } from '../../check/check.js'
import { documentOf, eq, fieldOf, ID, insertAll, planOf } from '../../check/documents.js'
import { checkOneWinner, race, times, type Write } from '../../check/race.js'
import { withTwo } from '../../check/with-adapter.js'

const S = fieldOf('s', 'string')
const REF = fieldOf('ref', 'string')

const next = (_id: string): StoredDocument => ({ _id, _version: 2 })

/** The steps by which one write requires the document that the other one changes. */
const HOLDS: readonly (readonly [what: string, step: (id: string) => WriteStep])[] = [
  ['requires', (id) => ({ in: 'things', require: id })],
  ['requires in a version', (id) => ({ in: 'things', require: id, version: 1 })],
  ['requires to match', (id) => ({ in: 'things', require: id, where: eq(S, 'a') })],
]

const CHANGES: readonly (readonly [what: string, step: (id: string) => WriteStep])[] = [
  ['replaces', (id) => ({ in: 'things', replace: { ...next(id), s: 'a' }, version: 1 })],
  ['removes', (id) => ({ in: 'things', remove: eq(ID, id), expect: 1 })],
]

/**
 * One write changes a document that the other requires, then each has a `refuse` step for the document that the other
 * adds: only one succeeds.
 */
const looks: readonly AdapterCase[] = HOLDS.flatMap(([held, hold]) =>
  CHANGES.map(([changed, change]) => ({
    name: `race: one of two writes that refuse each other succeeds, if one ${changed} a document and one ${held} it`,
    run: (storage) =>
      withTwo(storage, [planOf('things'), planOf('marks', [false, S])], async (...adapters) => {
        for (let round = 0; round < 20; round++) await raceTwoLooks(adapters, round, change, hold)
      }),
  })),
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
  check(winners.length === 1, `round ${round}: not one of two succeeded: ${print(results)}`)
}

/** Many writes at once, which depend on documents that they do not name. */
export const lookRaceCases: readonly AdapterCase[] = [
  ...looks,
  {
    name: 'race: one of 20 inserts that refuse each other succeeds, after a change of one document',
    run: (storage) =>
      withTwo(storage, [planOf('things', [false, S]), planOf('turns')], async (...adapters) => {
        for (const value of ['a', 'b', 'c']) {
          const writes = times(
            20,
            (i): Write => [
              { in: 'turns', insert: documentOf('turn') },
              { in: 'turns', remove: eq(ID, 'turn') },
              { in: 'things', refuse: eq(S, value) },
              { in: 'things', insert: documentOf(`${value}${i}`, { s: value }) },
            ],
          )
          checkOneWinner(await race(adapters, writes), 'found', `inserts of ${value}`)
          checkSame(await adapters[0].count('things', eq(S, value), {}), 1, `documents with ${value}`)
        }
      }),
  },
  {
    name: 'race: one of 20 inserts that refuse each other succeeds, with turns',
    run: (storage) =>
      withTwo(storage, [planOf('things', [false, S])], async (...adapters) => {
        for (const value of ['a', 'b', 'c']) {
          const writes = times(
            20,
            (i): Write => [
              { in: 'things', refuse: eq(S, value), turn: 'alone' },
              { in: 'things', insert: documentOf(`${value}${i}`, { s: value }) },
            ],
          )
          checkOneWinner(await race(adapters, writes), 'found', `inserts of ${value}`)
        }
      }),
  },
  {
    name: 'race: one of two writes that refuse each other succeeds, with turns',
    run: (storage) =>
      withTwo(storage, [planOf('things', [false, S]), planOf('marks', [false, S])], async (...adapters) => {
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
      }),
  },
  {
    name: 'race: documents removed by a property, after a change of their owner, do not come back',
    run: (storage) =>
      withTwo(storage, [planOf('owners'), planOf('refs', [false, REF])], async (...adapters) => {
        for (const round of times(30, (i) => i)) {
          const owner = `o${round}`
          await insertAll(adapters[0], 'owners', [documentOf(owner)])
          await insertAll(adapters[1], 'refs', [documentOf(`old${round}`, { ref: owner })])
          const add = (i: number): Write => [
            { in: 'owners', require: owner, version: 1 },
            { in: 'refs', insert: documentOf(`new${round}-${i}`, { ref: owner }) },
          ]
          const clear: Write = [
            { in: 'owners', replace: next(owner), version: 1 },
            { in: 'refs', remove: eq(REF, owner) },
          ]
          const results = await race(adapters, [add(0), add(1), clear, add(2), add(3)])
          check(results[2]?.ok === true, `the removal was refused: ${print(results[2])}`)
          const added = results.filter(({ ok }, i) => ok && i !== 2).length
          checkSame(results[2], { ok: true, removed: 1 + added }, `round ${round}: what was removed`)
          checkSame(await adapters[1].count('refs', eq(REF, owner), {}), 0, `round ${round}: what is left`)
        }
      }),
  },
]
