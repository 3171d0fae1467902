import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { newSchema } from '../support/postgres.js'
import { isLong } from '../support/tier.js'
import { until } from '../support/until.js'
import { FAULTS, type Load, startLoad } from './support/load.js'
import { useOwnPostgres } from './support/own-postgres.js'
import { digestOf, expectNoFaults, openService, readStore, type Service } from './support/service.js'
import type { Store } from './support/stores.js'

/** The server goes away and comes back. */

expectNoFaults()
const postgres = useOwnPostgres()

const newStore = (): Store & { readonly engine: 'postgres' } => ({
  engine: 'postgres',
  options: { connectionString: postgres.url, schema: newSchema() },
})

const CLIENTS = 20

/** A store holds what was acknowledged, whole, and nothing that was refused. */
async function checkStore(store: Store, load: Load): Promise<void> {
  const documents = await readStore(store, 'things')
  const codes = new Set(documents.map(({ code }) => String(code)))
  expect([...load.acknowledged].filter((code) => !codes.has(code))).toEqual([])
  expect([...load.refused].filter((code) => codes.has(code))).toEqual([])
  expect(codes.size).toBe(documents.length)
  for (const { text, digest } of documents) expect(digestOf(String(text))).toBe(digest)
}

const total = (answers: { readonly [answer: string]: number }): number =>
  Object.values(answers).reduce((sum, times) => sum + times, 0)

const untilWritten = async (service: Service): Promise<void> =>
  until(async () => {
    const text = `probe-${Math.random()}`
    const { status } = await service.send('POST /things', { code: text, text, digest: digestOf(text) })
    return status === 201
  }, 'a document is created')

async function untilBusy(load: Load): Promise<void> {
  const enough = load.acknowledged.size + 100
  await until(() => load.acknowledged.size >= enough, '100 documents have been created')
}

describe('a server that is stopped under load', () => {
  test('is told as 503 and used again when it is back', { timeout: 90_000 }, async () => {
    const store = newStore()
    const service = openService(store)
    const load = startLoad(service, CLIENTS)
    await untilBusy(load)
    expect(Object.keys(load.takeAnswers()).sort()).toEqual(['200', '201'])

    await postgres.stop()
    const during = load.takeAnswers()
    expect([...FAULTS, '200', '201']).toEqual(expect.arrayContaining(Object.keys(during)))
    // Those that were under way have been answered; all others never reach it.
    let answers: { readonly [answer: string]: number } = {}
    for (let turn = 0; turn < 2; turn++) {
      let seen = 0
      await until(() => {
        answers = load.takeAnswers()
        seen += total(answers)
        return seen >= 5 * CLIENTS
      }, 'clients are answered')
    }
    expect(Object.keys(answers)).toEqual(['503 storage_unavailable, Retry-After'])

    await postgres.start()
    await untilWritten(service)
    await untilBusy(load)
    load.takeAnswers()
    await untilBusy(load)
    expect(Object.keys(load.takeAnswers()).sort()).toEqual(['200', '201'])
    await load.stop()
    await checkStore(store, load)
    await service.handler.close()
  })

  const rounds = isLong ? 10 : 3
  test(`keeps what was acknowledged before it was killed, ${rounds} times`, {
    timeout: 120_000,
  }, async () => {
    const store = newStore()
    const service = openService(store)
    const load = startLoad(service, CLIENTS)
    for (let round = 0; round < rounds; round++) {
      await untilBusy(load)
      await postgres.kill()
      await postgres.start()
      await untilWritten(service)
    }
    await load.stop()
    const answers = Object.keys(load.takeAnswers())
    expect([...FAULTS, '200', '201']).toEqual(expect.arrayContaining(answers))
    await checkStore(store, load)
    await service.handler.close()
  })

  test('is awaited by a service whose first request comes meanwhile', { timeout: 60_000 }, async () => {
    const service = openService(newStore())
    await postgres.stop()
    const answer = { status: 503, code: 'storage_unavailable', retryAfter: expect.stringMatching(/^\d+$/) }
    expect(await service.send('GET /things')).toMatchObject(answer)
    expect(await service.send('POST /things', {})).toMatchObject(answer)
    await expect(service.handler.ready()).rejects.toMatchObject({ code: 'storage_unavailable' })
    await postgres.start()
    await until(async () => (await service.send('GET /things')).status === 200, 'it is open')
    expect((await service.send('POST /things', {})).status).toBe(201)
    await service.handler.close()
  })

  test('finds a listener on each connection, from the first moment on', async () => {
    const listening: number[] = []
    const { connect } = pg.Pool.prototype as { connect(): Promise<pg.PoolClient> }
    const watched = vi.spyOn(pg.Pool.prototype, 'connect').mockImplementation(async function (this: pg.Pool) {
      const client = await connect.call(this)
      listening.push(client.listenerCount('error'))
      return client
    } as never)
    try {
      const service = openService(newStore())
      expect((await service.send('GET /things')).status).toBe(200)
      await service.handler.close()
    } finally {
      watched.mockRestore()
    }
    expect(listening.length).toBeGreaterThan(0)
    expect(Math.min(...listening)).toBeGreaterThan(0)
  })

  test('costs a server of node:http no connection', { timeout: 60_000 }, async () => {
    const service = openService(newStore())
    const http = createServer(toNodeHandler(service.handler)).listen(0, '127.0.0.1')
    await new Promise((resolve) => http.once('listening', resolve))
    const { port } = http.address() as AddressInfo
    const read = async (): Promise<[number, string | null]> => {
      const response = await fetch(`http://127.0.0.1:${port}/things`)
      await response.arrayBuffer()
      return [response.status, response.headers.get('retry-after')]
    }
    expect(await read()).toEqual([200, null])
    await postgres.stop()
    for (let i = 0; i < 3; i++) {
      const answers = await Promise.all(Array.from({ length: CLIENTS }, read))
      for (const answer of answers) expect(answer).toEqual([503, '1'])
    }
    await postgres.start()
    await until(async () => (await read())[0] === 200, 'it answers')
    await new Promise((resolve) => http.close(resolve))
    await service.handler.close()
  })
})
