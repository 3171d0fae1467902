import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { isLong, seedOf } from '../support/tier.js'
import { config, openAccounts } from './support/accounts.js'
import { runClients, type Told } from './support/clients.mjs'
import { createBlindAdapter, createRepeatingAdapter } from './support/faulty-adapters.js'
import { checkHistory } from './support/history/check-history.js'
import { type History, printTransaction, type Transaction } from './support/history/history.js'
import { connect, engines } from './support/stores.js'
import { createUnsteadyAdapter } from './support/unsteady-adapter.js'
import { startWorker, useWorkers, type Worker } from './support/workers.js'

// CONTRACT.md §2, "Batch"

/** Random transactions of eight clients run as if one came after another. */

const ROUNDS = isLong ? 40 : 1

/** How many transactions each client brings to their end. */
const SHARE = 16

/** Eight clients of this process. One service lets those who write one document come one after another; several do not. */
async function runHere(adapter: StorageAdapter, seed: number, services = 4): Promise<History> {
  const accounts = openAccounts(createUnsteadyAdapter(adapter, seed), services)
  const history = await accounts.run(async (documents) => {
    const told: Told[] = []
    const clients = { name: 'a', clients: 8, share: SHARE, seed, ...documents }
    await runClients(accounts.send, clients, (one) => void told.push(one))
    return told
  })
  await accounts.close()
  return history
}

/** Two clients in each of several processes. The last of these is killed when it has done as much as one of the others. */
async function runThere(
  workers: readonly Worker[],
  optionsOf: (place: number) => object,
): Promise<readonly Told[]> {
  const others = workers.slice(0, -1)
  const victim = workers.at(-1)
  const starts = workers.map((worker) => worker.lines().length)
  for (const [i, worker] of workers.entries()) worker.begin('transact', optionsOf(i))
  for (let done = 0; done < 2 * SHARE; done++) await victim?.printed(/^told .*"outcome":"done"/)
  // One with several writes, which has just begun.
  await victim?.printed(/^told .*"sent":\["[^"]+",/)
  await victim?.kill()
  await Promise.all(others.map((worker) => worker.finish()))
  return workers.flatMap((worker, i) => worker.lines().slice(starts[i]).flatMap(readTold))
}

const readTold = (line: string): readonly Told[] =>
  line.startsWith('told ') ? [JSON.parse(line.slice('told '.length))] : []

/** `areRefused`: whether many are, as where clients meet that know nothing of each other. */
function expectSerial(history: History, areRefused = true): void {
  const found = checkHistory(history)
  const involved = history.transactions.filter(({ id }) => found.join().includes(id))
  expect(found, involved.map(printTransaction).join('\n')).toEqual([])
  const count = (outcome: Transaction['outcome'], writes: number): number =>
    history.transactions.filter((one) => one.outcome === outcome && one.sent.length >= writes).length
  // Else there was not much to be found.
  expect(count('done', 1)).toBeGreaterThan(4 * SHARE)
  if (areRefused) expect(count('refused', 6)).toBeGreaterThan(0)
}

describe('eight clients', () => {
  test.each([1, 4])('in one process, in memory, through %i services', async (services) => {
    for (let round = 0; round < ROUNDS; round++) {
      const history = await runHere(createMemoryAdapter(), seedOf(round), services)
      expectSerial(history, services > 1)
    }
  })
})

describe.each(engines)('eight clients in four processes, %s', (_, useStores) => {
  const stores = useStores()
  const workers = useWorkers(3)

  test('one of which is killed', async () => {
    const store = stores.create()
    const accounts = openAccounts(connect(store))
    for (let round = 0; round < ROUNDS; round++) {
      const victim = startWorker()
      const history = await accounts.run((documents) =>
        runThere([...workers, victim], (place) => {
          const share = place < workers.length ? SHARE : null
          const own = { name: `${'abcd'[place]}`, clients: 2, share, seed: seedOf(4 * round + place) }
          return { config, store, clients: { ...own, ...documents } }
        }),
      )
      expectSerial(history)
    }
    await accounts.close()
  })
})

describe('is noticed:', () => {
  test('a read that is not checked', async () => {
    const history = await runHere(createBlindAdapter(createMemoryAdapter()), 1)
    expect(checkHistory(history)).toContainEqual(expect.stringContaining(' -rw '))
  })

  test('a step that is applied twice', async () => {
    const history = await runHere(createRepeatingAdapter(createMemoryAdapter()), 1)
    expect(checkHistory(history)).toContainEqual(expect.stringMatching(/^two versions by /))
  })
})
