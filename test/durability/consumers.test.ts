import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../support/tier.js'
import { until } from '../support/until.js'
import { checkLedger, type LedgerLine } from './support/check-ledger.js'
import { openService, type Service } from './support/service.js'
import { engines } from './support/stores.js'
import { endWorkers, startConsumer, type Worker } from './support/workers.js'

// CONTRACT.md §9, "Consumers"

/** A consumer in four processes, of which the one that runs it is killed or stopped, again and again. */

endWorkers()

/** What happens to the process that is told. */
const FATES = isLong
  ? Array.from({ length: 60 }, (_, i) => (i % 6 === 5 ? 'stopped' : 'killed'))
  : (['killed', 'stopped'] as const)

const PROCESSES = 4
const DOCUMENTS = 6

/** The lines that a process writes before something happens to it. */
const LINES = 10

const config = {
  collections: {
    things: {
      changes: true,
      schema: { code: { type: 'string' }, n: { type: 'integer' } },
      permissions: { '*': { read: true, create: true, update: true } },
    },
  },
} as const

const delay = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-consumers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function readLedger(file: string): Promise<readonly LedgerLine[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** Creates documents, and counts each of them up until `isOver`. Gives how far each is. */
async function countUp({ send }: Service, isOver: () => boolean): Promise<ReadonlyMap<string, number>> {
  const last = new Map<string, number>()
  /** A write whose outcome is not known is repeated: it may then be there twice. */
  const insist = async (line: string, body: object): Promise<{ readonly _id: string }> => {
    for (;;) {
      const answer = await send(line, body)
      if (answer.status < 300) return answer.body
      if (answer.status !== 503) throw new Error(JSON.stringify(answer.body))
      await delay(20)
    }
  }
  const count = async (code: string): Promise<void> => {
    // Under an id of its own, a create can be repeated as well.
    const { _id } = await insist(`POST /things`, { code: `${code} ${crypto.randomUUID()}`, n: 0 })
    for (let n = 1; !isOver(); n++) {
      await insist(`PATCH /things/${_id}`, { code, n })
      last.set(code, n)
      await delay(Math.random() * 20)
    }
  }
  await Promise.all(Array.from({ length: DOCUMENTS }, (_, i) => count(`d${i}`)))
  return last
}

// Side by side: most of the time each waits.
describe.concurrent.each(engines)('a consumer in four processes, %s', (_, useStores) => {
  const stores = useStores()

  test('is told of every change in order, whatever happens to the process that is told', async ({
    expect,
  }) => {
    const store = stores.create()
    const ledger = join(folder, store.engine)
    let serial = 0
    const workers = new Map<string, Worker>()
    /** Starts a process with a consumer. */
    const start = (): Worker => {
      const by = `p${serial++}`
      const worker = startConsumer()
      workers.set(by, worker)
      worker.begin('consume', { store, config, ledger, by })
      return worker
    }
    const service = openService(store, {}, config)
    await service.handler.ready()
    const started = Array.from({ length: PROCESSES }, start)
    // Else the first changes would lie before the end of the log at which the consumer begins.
    await Promise.any(started.map(({ printed }) => printed(/^running$/)))
    let isOver = false
    const counting = countUp(service, () => isOver)
    /** The process that has written so many lines since. */
    const findBusy = async (since: number): Promise<string> => {
      let busy: string | undefined
      await until(async () => {
        const lines = (await readLedger(ledger)).slice(since)
        const by = lines.at(-1)?.by
        busy = lines.filter((line) => line.by === by).length >= LINES ? by : undefined
        return busy !== undefined
      })
      return busy ?? ''
    }
    for (const fate of FATES) {
      const since = (await readLedger(ledger)).length
      const busy = await findBusy(since)
      const worker = workers.get(busy)
      if (!worker) throw new Error(`${busy} is not there`)
      if (fate === 'killed') {
        await worker.kill()
        workers.delete(busy)
        start()
      } else {
        worker.send('SIGSTOP')
        const stopped = (await readLedger(ledger)).length
        // It may have been stopped while all others wait for what it has locked.
        const end = performance.now() + 3000
        await until(
          async () =>
            performance.now() > end ||
            (await readLedger(ledger)).slice(stopped).some(({ by }) => by !== busy),
        )
        worker.send('SIGCONT')
      }
    }
    await findBusy((await readLedger(ledger)).length)
    isOver = true
    const last = await counting
    const count = (lines: readonly LedgerLine[]): ReadonlyMap<string, number> =>
      new Map(lines.flatMap(({ what, code, n }) => (what === 'end' ? [[code, n] as const] : [])))
    await until(async () => {
      const counted = count(await readLedger(ledger))
      return [...last].every(([code, n]) => counted.get(code) === n)
    })
    for (const worker of workers.values()) worker.stop()
    await Promise.all(Array.from(workers.values(), ({ ended }) => ended))
    await service.handler.close()
    const lines = (await readLedger(ledger)).filter(({ n }) => n > 0)
    expect(checkLedger(lines, last)).toEqual([])
    // Else nobody had to follow anybody.
    const kills = FATES.filter((fate) => fate === 'killed').length
    expect(new Set(lines.map(({ by }) => by)).size).toBeGreaterThan(kills)
  })
})

describe('is noticed:', () => {
  const line = (text: string): LedgerLine => {
    const [what, by, lease, code, n] = text.split(' ')
    return { what, by, lease: Number(lease), code, n: Number(n) } as LedgerLine
  }
  const sound = [
    ...['begin A 1 a 1', 'begin A 1 b 1', 'end A 1 a 1', 'begin A 2 a 2', 'fail A 1 b 1', 'begin A 3 b 1'],
    // It was killed; another one begins with what was not written.
    ...['begin B 6 a 1', 'begin B 6 b 1', 'end B 6 b 1', 'end B 6 a 1', 'begin B 7 a 2', 'end A 2 a 2'],
    ...['end B 7 a 2', 'begin B 8 b 2', 'end B 8 b 2'],
  ]
  const last = new Map([
    ['a', 2],
    ['b', 2],
  ])
  const check = (lines: readonly string[]) => checkLedger(lines.map(line), last)

  test('nothing, where all is right', () => expect(check(sound)).toEqual([]))

  test('nothing, where one goes on again behind another one', () => {
    const again = ['begin A 1 a 1', 'begin B 2 b 1', 'end A 1 a 1', 'begin A 3 a 1', 'end A 3 a 1']
    const rest = [
      'begin A 3 b 1',
      'end A 3 b 1',
      'begin A 3 a 2',
      'end A 3 a 2',
      'begin A 3 b 2',
      'end A 3 b 2',
    ]
    expect(check([...again, ...rest])).toEqual([])
    expect(check([...again.with(4, 'begin A 3 a 1'), 'end A 3 a 1', ...rest])).not.toEqual([])
  })

  test.each<readonly [what: string, lines: readonly string[]]>([
    ['a change that is missing', sound.slice(0, -2)],
    ['a change that was not handled', sound.slice(0, -1)],
    ['a change that comes too early', sound.toSpliced(1, 0, 'begin A 1 b 2')],
    ['two at a time', sound.toSpliced(1, 0, 'begin A 1 a 1')],
    ['one lease of two', sound.toSpliced(8, 0, 'begin C 6 c 1')],
    ['an end without a beginning', [...sound, 'end B 8 a 1']],
  ])('%s', (_, lines) => expect(check(lines)).not.toEqual([]))
})
