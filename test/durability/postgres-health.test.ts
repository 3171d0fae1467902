import { afterEach, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { newSchema } from '../support/postgres.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'
import { until } from '../support/until.js'
import { useOwnPostgres } from './support/own-postgres.js'

/** CONTRACT.md §7, "Health", with a server that goes away and comes back. */

const postgres = useOwnPostgres()
const services = closeAfterEach()
afterEach(() => void vi.restoreAllMocks())

const config = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
}

function open() {
  const adapter = createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() })
  const service = createTestService(config, { adapter, health: 'detailed' })
  services.push(service)
  const probe = async (name: string): Promise<readonly [number, string]> => {
    const answer = await service.handler(new Request(`http://service.test/_health/${name}`))
    return [answer.status, await answer.text()]
  }
  /** Waits until a question to the storage has another answer. */
  const become = (wanted: number): Promise<void> =>
    until(async () => (await probe('ready'))[0] === wanted, `ready is ${wanted}`)
  return { ...service, probe, become }
}

test('a server that is stopped is not ready, also for a service that has started, until it is back', async () => {
  const { handler, probe, become } = open()
  await handler.ready()
  expect((await probe('ready'))[0]).toBe(200)
  await postgres.stop()
  await become(503)
  // The service itself has started, and lists its collections without the storage.
  await handler.ready()
  expect((await handler(new Request('http://service.test/'))).status).toBe(200)
  expect((await probe('live'))[0]).toBe(200)
  expect((await probe('ready'))[1]).not.toMatch(/postgres|127\.0\.0\.1|ECONN/)
  await postgres.start()
  await become(200)
})

test('a service that starts before its server is not ready, and becomes ready without a request', async () => {
  await postgres.stop()
  const { handler, probe, become } = open()
  await expect(handler.ready()).rejects.toMatchObject({ code: 'storage_unavailable' })
  const [status, text] = await probe('ready')
  expect([status, JSON.parse(text).checks[0]]).toEqual([
    503,
    { name: 'service', status: 'failing', detail: 'The storage could not be opened.' },
  ])
  expect((await handler(new Request('http://service.test/'))).status).toBe(503)
  expect((await probe('live'))[0]).toBe(200)
  await postgres.start()
  await become(200)
})
