import { afterEach, describe, expect, test } from 'vitest'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'
import { seedOf } from '../support/tier.js'
import { until } from '../support/until.js'
import { ADMIN, config, useStreams } from './support/changes.js'

// CONTRACT.md §9, "The log"

const serve = useStreams()
const opened = closeAfterEach()

const BYTES = 20_000
const limited = { ...config, limits: { changesBytes: BYTES } }

const random = createRandom(seedOf(1))

/** Text that no storage makes shorter. */
const randomText = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(random.integer(97, 122))).join('')

const warnings: unknown[] = []
const hear = (warning: Error & { code?: string }): void => void warnings.push(warning.code)
process.on('warning', hear)
afterEach(() => warnings.splice(0))

describe.each(useLastingStorages())('in %s', (_, create) => {
  const connect = create()

  test('a stream that comes back behind what has gone begins with reset, and one that is not behind goes on', async () => {
    const { open, write } = await serve({ adapter: connect(), config: limited })
    const stream = await open('/notes/changes', { caller: ADMIN })
    const { _id } = await write('POST /notes', { text: randomText(1000) })
    const [, first] = await stream.until(2)
    for (let i = 0; i < 30; i++) await write(`PATCH /notes/${_id}`, { text: randomText(1000) })
    // Who listens all the time misses nothing, and begins anew never.
    const events = await stream.until(32)
    expect(events.filter(({ event }) => event === 'reset')).toHaveLength(1)
    await stream.close()
    const at = (id: string | undefined) => ({ caller: ADMIN, headers: { 'last-event-id': id ?? '' } })
    await write(`PATCH /notes/${_id}`, { text: 'last' })
    const late = await open('/notes/changes', at(first?.id))
    expect((await late.until(1))[0]?.event).toBe('reset')
    const near = await open('/notes/changes', at(events.at(-1)?.id))
    expect((await near.until(1))[0]).toMatchObject({ event: 'change', data: { text: 'last' } })
  })

  test('a change that is larger than the log may be is told to who listens', async () => {
    const { open, write } = await serve({ adapter: connect(), config: limited })
    const stream = await open('/notes/changes', { caller: ADMIN })
    const text = randomText(2 * BYTES)
    await write('POST /notes', { text })
    expect((await stream.until(2))[1]).toMatchObject({ event: 'enter', data: { text } })
  })

  test('a consumer that is behind is told of all, and a warning says that it holds the log', async () => {
    const told: unknown[] = []
    let isOpen = false
    const service = createTestService(limited, {
      adapter: connect(),
      consumers: {
        slow: {
          collections: ['notes'],
          async handle({ after }) {
            if (!isOpen) throw new Error('not yet')
            told.push((after as { text?: string } | null)?.text)
          },
        },
      },
    })
    opened.push(service)
    await service.handler.ready()
    const sent: string[] = []
    for (let i = 0; i < 40; i++) {
      const text = randomText(1000)
      sent.push(text)
      expect((await service.send('POST /notes', { caller: ADMIN, body: { text } })).status).toBe(201)
    }
    await until(() => warnings.includes('COLLECTION_SERVICE_LOG_HELD'))
    isOpen = true
    await until(() => told.length >= 40)
    expect([...told].sort()).toEqual([...sent].sort())
  })
})

test.each([0, 1.5, -1, '1', null])('limits.changesBytes: %j is a ConfigError', (changesBytes) => {
  expect(() => createTestService({ ...config, limits: { changesBytes } })).toThrow(
    expect.objectContaining({ faults: [expect.objectContaining({ path: '/limits/changesBytes' })] }),
  )
})
