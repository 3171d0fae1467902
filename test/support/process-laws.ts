import { expect } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import {
  codeOf,
  configOf,
  type Law,
  type Migrating,
  migrate,
  migrating,
  open,
  readAll,
  store,
  summary,
  text,
} from './migrate-laws.js'
import type { TestService } from './service.js'
import { until } from './until.js'

/** Migrations beside processes of an earlier configuration (CONTRACT.md §7, "Earlier processes"), whatever the storage. */

const MINUTE = 60_000

const START = Date.parse('2026-01-01T00:00:00Z')

const before = configOf({ a: text })

const after = migrating(before, 'm1')

const code = codeOf({ m1: ({ a }) => ({ set: { a: `${a}!` } }) })

/** A clock that the test sets, in minutes from the start. */
function createClock() {
  let minutes = 0
  return {
    now: () => START + minutes * MINUTE,
    set: (to: number) => {
      minutes = to
    },
  }
}

const refused = (message: string) => ({
  name: 'ConfigError',
  faults: [{ path: '/migrations/0', message: expect.stringContaining(message) }],
})

/** Runs the migration, by a clock some minutes from the start. */
const migrateAt = (over: Migrating, minutes: number) =>
  migrate(over, after, { migrations: code, now: () => START + minutes * MINUTE })

async function statusOf({ send }: TestService): Promise<readonly number[]> {
  const list = await send('GET /notes', { mayFail: true })
  const create = await send('POST /notes', { body: { a: 'late' }, mayFail: true })
  return [list.status, create.status]
}

/** Waits until a service gets a status, because it renews its line beside a request. */
const untilStatus = ({ send }: TestService, status: number): Promise<void> =>
  until(async () => (await send('GET /notes', { mayFail: true })).status === status, `a ${status}`, 30)

/** A migration that waits in the middle. */
function createGate() {
  let leave = (): void => {}
  let enter = (): void => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const migrations = codeOf({
    async m1({ a }) {
      enter()
      await left
      return { set: { a: `${a}!` } }
    },
  })
  return { migrations, entered, leave }
}

export const PROCESS_LAWS: readonly Law[] = [
  [
    'a migration does not run while a process without it serves, which goes on',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const earlier = open(over, before)
      await earlier.handler.ready()
      await expect(migrate(over, after, { migrations: code })).rejects.toMatchObject(
        refused(`"m1" cannot run while processes without it serve: process ${process.pid}, seen `),
      )
      expect(await readAll(over)).toEqual([{ a: 'x' }])
      expect((await earlier.send('GET /notes')).status).toBe(200)
      // Another process of the earlier configuration may still start.
      await open(over, before).handler.ready()
      await expect(migrate(over, after, { migrations: code })).rejects.toMatchObject(
        refused(`process ${process.pid}, seen `),
      )
    },
  ],
  [
    'a migration runs as soon as the process without it has ended',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const earlier = open(over, before)
      await earlier.handler.ready()
      await earlier.handler.close()
      expect(summary((await migrate(over, after, { migrations: code })).steps)).toEqual([
        ['migration', 'm1', 1, 0],
      ])
    },
  ],
  [
    'a migration runs while processes with it wait for it, which then become ready',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const waiting = open(over, after)
      await expect(waiting.handler.ready()).rejects.toMatchObject(refused('"m1" is not finished'))
      await migrate(over, after, { migrations: code })
      await untilStatus(waiting, 200)
    },
  ],
  [
    'a dry run does not wait for other processes',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      await open(over, before).handler.ready()
      const { steps } = await migrate(over, after, { migrations: code, dryRun: true })
      expect(summary(steps)).toEqual([['migration', 'm1', 1, 0]])
    },
  ],
  [
    'a process that was killed counts for four minutes after its last line',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const clock = createClock()
      const killed = open(over, before, { now: clock.now })
      await killed.handler.ready()
      await expect(migrateAt(over, 3.9)).rejects.toMatchObject(refused('another 6 seconds'))
      // The first request of a minute renews the line.
      clock.set(1.5)
      await killed.send('GET /notes')
      const isRenewed = async (): Promise<boolean> =>
        String(await migrateAt(over, 4.1).catch(String)).includes('another 84 seconds')
      await until(isRenewed, 'a renewed line', 30)
      expect(summary((await migrateAt(over, 5.5)).steps)).toEqual([['migration', 'm1', 1, 0]])
    },
  ],
  [
    'a process that resumes while a migration runs reads and writes nothing',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const clock = createClock()
      const paused = open(over, before, { now: clock.now })
      await paused.handler.ready()
      const { migrations, entered, leave } = createGate()
      const now = () => START + 5 * MINUTE
      const running = migrate(over, after, { migrations, now })
      await entered
      clock.set(5)
      expect(await statusOf(paused)).toEqual([503, 503])
      // Nor does one that starts.
      await expect(open(over, before, { now: clock.now }).handler.ready()).rejects.toMatchObject({
        message: expect.stringContaining('the migration "m1" has begun'),
      })
      leave()
      expect(summary((await running).steps)).toEqual([['migration', 'm1', 1, 0]])
      expect(await readAll(over)).toEqual([{ a: 'x!' }])
      // No response says why.
      const { body } = await paused.send('GET /notes', { mayFail: true })
      expect(JSON.stringify(body)).not.toMatch(/migration|m1/)
    },
  ],
  [
    'a process without the migration that was finished last ends to serve within a minute of requests',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const clock = createClock()
      const earlier = open(over, before, { now: clock.now })
      await earlier.handler.ready()
      // The clock of the run is ahead, or the process had no requests.
      await migrateAt(over, 10)
      clock.set(1.5)
      await untilStatus(earlier, 503)
      expect(await statusOf(earlier)).toEqual([503, 503])
      expect(await earlier.handler.health()).toMatchObject({ status: 'failing' })
    },
  ],
  [
    'a process with the migration goes on while it runs, and after it',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      await migrate(over, after, { migrations: code })
      const clock = createClock()
      const serving = open(over, after, { now: clock.now })
      await serving.handler.ready()
      for (const minutes of [1.5, 10, 9, 200]) {
        clock.set(minutes)
        expect((await serving.send('GET /notes')).status).toBe(200)
      }
    },
  ],
  [
    'a start beside a process without its fill or normal form warns, and does not wait',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      await open(over, before).handler.ready()
      const config = configOf({ a: { ...text, trim: true }, b: { ...text, required: true, fill: 'y' } })
      await migrate(over, config)
      const warnings: unknown[] = []
      const logger = {
        ...console,
        warn: (message: string, details?: object) => warnings.push({ message, ...details }),
      }
      await open(over, config, { logger }).handler.ready()
      expect(warnings).toContainEqual({
        code: 'earlier_process',
        message: expect.stringContaining(`process ${process.pid} serves an earlier configuration`),
      })
    },
  ],
  [
    'a storage without documents does not take the migrations as finished beside an earlier process',
    async (over) => {
      const earlier = open(over, before)
      await earlier.handler.ready()
      await expect(open(over, after).handler.ready()).rejects.toMatchObject(refused('"m1" is not finished'))
      await earlier.handler.close()
      await migrate(over, after, { migrations: code })
      await open(over, after).handler.ready()
    },
  ],
  [
    'a process whose line cannot be renewed goes on for two minutes, then waits',
    async (over) => {
      await store(over, before, [{ a: 'x' }])
      const clock = createClock()
      let isDown = false
      const connect = (): StorageAdapter => {
        const inner = over.connect()
        return {
          ...inner,
          write: (steps, options) =>
            isDown && steps.some(({ in: name }) => name === '_schema')
              ? Promise.reject(new Error('down'))
              : inner.write(steps, options),
        }
      }
      const service = open({ ...over, connect }, before, { now: clock.now })
      await service.handler.ready()
      isDown = true
      clock.set(1.9)
      expect((await service.send('GET /notes')).status).toBe(200)
      clock.set(2.1)
      expect((await service.send('GET /notes', { mayFail: true })).status).toBe(503)
      isDown = false
      await untilStatus(service, 200)
    },
  ],
]
