import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import { isLong } from '../support/tier.js'
import { checkLogHistory, type LogHistory, type SentWrite } from './support/check-log.js'
import { follow, plans, type ToldChange } from './support/log-clients.mjs'
import { connect, engines } from './support/stores.js'
import { startWorker, useWorkers, type Worker } from './support/workers.js'

// CONTRACT.md §7, "Storage"

/** The log of changes, while four processes write and read, and one of them is killed. */

const ROUNDS = isLong ? 40 : 1

/** How many writes each of the loops of a process makes. */
const SHARE = isLong ? 60 : 12
const LOOPS = 3

/** The writes of a process, as far as it has told of them. */
function readWrites(worker: Worker, from: number): readonly SentWrite[] {
  const lines = worker.lines().slice(from)
  const outcomes = new Map(
    lines.flatMap((line) => {
      const [, outcome, write = ''] = /^(made|refused) (.*)$/.exec(line) ?? []
      return outcome === 'made' || outcome === 'refused' ? [[write, outcome] as const] : []
    }),
  )
  return lines.flatMap((line) => {
    if (!line.startsWith('sent ')) return []
    const [write, changes]: [string, readonly ToldChange[]] = JSON.parse(line.slice('sent '.length))
    return [{ write, changes, outcome: outcomes.get(write) ?? 'unknown' }]
  })
}

describe.each(engines)('the log of four processes, %s', (_, useStores) => {
  const stores = useStores()
  const workers = useWorkers(3)

  test('has every change once, in order, for every reader, though one is killed', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const store = stores.create()
      const adapter = connect(store)
      await adapter.open(plans)
      const start = (await adapter.changes?.(null, { limit: 1 }))?.position ?? ''
      const victim = startWorker()
      const all = [...workers, victim]
      const starts = all.map((worker) => worker.lines().length)
      let isOver = false
      const reading = follow(adapter, start, () => isOver)
      for (const [i, worker] of all.entries()) {
        const share = worker === victim ? 1e9 : SHARE
        worker.begin('writeLogged', { store, name: `${'abcd'[i]}`, loops: LOOPS, share, start })
      }
      for (let made = 0; made < SHARE; made++) await victim.printed(/^made /)
      // Right behind one of several steps that was sent.
      await victim.printed(/^sent .*\],\[/)
      await victim.kill()
      const readers = await Promise.all(workers.map((worker) => worker.finish<readonly ToldChange[]>()))
      isOver = true
      const log = await reading
      const documents = await adapter.list('things', { filter: everything, sort: [], skip: 0, limit: null })
      const stored = new Map(documents.map(({ _id, by }) => [_id, String(by)]))
      const writes = all.flatMap((worker, i) => readWrites(worker, starts[i] ?? 0))
      const again = await follow(adapter, start, () => true)
      expect(checkLogHistory({ writes, log, readers: [...readers, again], stored })).toEqual([])
      // Else there was not much to be found.
      expect(log.length).toBeGreaterThan(3 * LOOPS * SHARE)
      expect(readers.every((read) => read.length > LOOPS * SHARE)).toBe(true)
      await adapter.close()
    }
  })
})

describe('is noticed:', () => {
  const log: readonly ToldChange[] = [
    ['a', null, '1'],
    ['b', null, '1'],
    ['a', '1', '2'],
    ['b', '1', null],
  ]
  const sound: LogHistory = {
    writes: [
      { write: '1', changes: log.slice(0, 2), outcome: 'made' },
      { write: '2', changes: log.slice(2, 3), outcome: 'made' },
      { write: '3', changes: log.slice(3), outcome: 'unknown' },
      { write: '4', changes: [['a', '2', '4']], outcome: 'refused' },
    ],
    log,
    readers: [log, log.slice(0, 3)],
    stored: new Map([['a', '2']]),
  }
  const pick = (...places: readonly number[]): readonly ToldChange[] =>
    places.flatMap((i) => log.slice(i, i + 1))

  test('nothing, where all is right', () => expect(checkLogHistory(sound)).toEqual([]))

  test.each<readonly [what: string, broken: Partial<LogHistory>]>([
    ['a change that is missing', { log: pick(0, 1, 3), readers: [] }],
    ['a removal that is missing', { log: pick(0, 1, 2), readers: [], stored: new Map([['a', '2']]) }],
    ['a change that comes twice', { log: pick(0, 1, 2, 2, 3), readers: [] }],
    ['two versions in the wrong order', { log: pick(2, 0, 1, 3), readers: [] }],
    ['a write whose changes lie apart', { log: pick(0, 2, 1, 3), readers: [] }],
    ['a write whose changes are in another order', { log: pick(1, 0, 2, 3), readers: [] }],
    ['a change behind a place that was read', { readers: [pick(0, 1, 3)] }],
    ['a change that nobody made', { writes: sound.writes.slice(1) }],
    [
      'a refused write',
      { writes: sound.writes.with(1, { write: '2', changes: pick(2), outcome: 'refused' }) },
    ],
    ['half of a write', { log: pick(0, 2), readers: [] }],
  ])('%s', (_, broken) => expect(checkLogHistory({ ...sound, ...broken })).not.toEqual([]))
})
