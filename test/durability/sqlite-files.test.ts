import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { config, expectNoFaults, openService, readStore } from './support/service.js'
import { type Store, useSqliteStores } from './support/stores.js'
import { endWorkers, startWorker } from './support/workers.js'

/** Files that cannot be used, or become so. */

endWorkers()
expectNoFaults()
const stores = useSqliteStores()

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-files-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const inFolder = (...names: string[]): Store => ({
  engine: 'sqlite',
  options: { file: join(folder, ...names) },
})

/** What is told of a failure, with what it came from. */
function wordsOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.message}\n${wordsOf(thrown.cause)}` : ''
}

describe('a file that cannot be opened', () => {
  test.each<[what: string, prepare: () => Promise<Store>, words: RegExp]>([
    ['in a folder that is not there', async () => inFolder('nowhere', 'data.db'), /directory does not exist/],
    ['that is a folder', async () => inFolder(), /unable to open database file/],
    [
      'of which several connections would see none',
      async () => ({ engine: 'sqlite', options: { file: ' :memory: ' } }),
      /is not the path of a file/,
    ],
    [
      'that is no database',
      async () => {
        const store = inFolder('text.db')
        await writeFile(join(folder, 'text.db'), 'x'.repeat(5000))
        return store
      },
      /file is not a database/,
    ],
  ])('%s, is told at the start', async (_, prepare, words) => {
    const service = openService(await prepare())
    const thrown: unknown = await service.handler.ready().then(
      () => undefined,
      (cause: unknown) => cause,
    )
    expect(wordsOf(thrown)).toMatch(words)
    const unavailable = { status: 503, code: 'storage_unavailable', retryAfter: '1' }
    expect(await service.send('GET /things')).toMatchObject(unavailable)
    expect(await service.send('POST /things', {})).toMatchObject(unavailable)
    await service.handler.close()
  })

  test('that is no database, keeps what it holds', async () => {
    const file = join(folder, 'letter.db')
    await writeFile(file, 'Dear Ann, '.repeat(500))
    const service = openService(inFolder('letter.db'))
    await expect(service.handler.ready()).rejects.toThrow()
    await service.handler.close()
    expect((await stat(file)).size).toBe(5000)
  })
})

describe('a file that changes under the service', () => {
  // An open file stays what it is for who has opened it, and for root everything is writable: the answer is left open.
  test.each<[what: string, change: (file: string) => Promise<unknown>]>([
    ['becomes read-only', (file) => chmod(file, 0o444)],
    ['is deleted', (file) => rm(file)],
    [
      'is deleted with its log',
      async (file) => {
        for (const ending of ['', '-wal', '-shm']) await rm(`${file}${ending}`, { force: true })
      },
    ],
    ['is overwritten', (file) => writeFile(file, 'x'.repeat(100_000))],
    ['is cut to nothing', (file) => writeFile(file, '')],
  ])('%s, never ends the process', { timeout: 60_000 }, async (_, change) => {
    const store = stores.create()
    if (store.engine !== 'sqlite') throw new Error('not a file')
    const service = openService(store)
    for (let i = 0; i < 20; i++)
      expect((await service.send('POST /things', { code: `${i}` })).status).toBe(201)
    await change(store.options.file)
    for (let i = 0; i < 20; i++) {
      const written = await service.send('POST /things', { code: `after ${i}` })
      expect([201, 503]).toContain(written.status)
      const read = await service.send('GET /things')
      expect([200, 503]).toContain(read.status)
    }
    await service.handler.close()
  })
})

describe('a file in which another process is writing', () => {
  test('is opened, and written to, when that is done', { timeout: 60_000 }, async () => {
    const store = stores.create()
    if (store.engine !== 'sqlite') throw new Error('not a file')
    const service = openService(store)
    await service.handler.ready()
    const { things, users } = config.collections
    const schema = { ...things.schema, more: { type: 'string', index: true } }
    const changed = { ...config, collections: { users, things: { ...things, schema } } }
    const worker = startWorker()
    await worker.run('open', { config, store })

    const other = new Database(store.options.file)
    other.exec('BEGIN IMMEDIATE')
    worker.begin('open', { config: changed, store })
    const writing = service.send('POST /things', { code: 'a' })
    // Both have found the file locked by then.
    await worker.printed(/^opening$/)
    other.exec('COMMIT')
    other.close()
    expect((await writing).status).toBe(201)
    expect(await worker.finish()).toBe('open')
    await service.handler.close()
  })
})

describe('a file of an earlier version', () => {
  test('is served with all that it holds', async () => {
    const store = stores.create()
    if (store.engine !== 'sqlite') throw new Error('not a file')
    const { file } = store.options
    const { things, users } = config.collections
    const named = { ...config, collections: { users, myThings: things } }
    const before = openService(store, {}, named)
    expect((await before.send('POST /myThings', { code: 'a' })).status).toBe(201)
    await before.handler.close()
    // Where capitals were part of the name of a table.
    const other = new Database(file)
    other.exec('ALTER TABLE "c_mythings:2" RENAME TO "c_myThings"')
    other.close()
    const after = openService(store, {}, named)
    expect((await after.send('POST /myThings', { code: 'b' })).status).toBe(201)
    expect((await after.send('GET /myThings/count')).body).toEqual({ total: 2 })
    await after.handler.close()
  })
})

describe('a disk that is full', () => {
  // Files of that process may not grow beyond a size, in blocks of 512 bytes: writing there fails as on a full disk.
  test('is told as 503, and what was acknowledged stays', { timeout: 60_000 }, async () => {
    const store = stores.create()
    const worker = startWorker('ulimit -f 1000')
    const options = { config, store, loops: 4, failures: 100, round: 0, name: 'a' }
    const tally = await worker.run<{ readonly [answer: string]: number }>('create', options)
    const { 201: created = 0, ...others } = tally
    expect(created).toBeGreaterThan(0)
    expect(Object.keys(others)).not.toEqual([])
    expect(['503 storage_unavailable', '503 outcome_unknown']).toEqual(
      expect.arrayContaining(Object.keys(others)),
    )
    const stored = new Set((await readStore(store, 'things')).map(({ _id }) => _id))
    const acknowledged = worker.lines().filter((line) => line.startsWith('acknowledged '))
    expect(acknowledged).toHaveLength(created)
    for (const line of acknowledged) expect(stored).toContain(line.split(' ')[1])
    if (tally['503 outcome_unknown'] === undefined) expect(stored.size).toBe(created)
    // With room again the file is as good as any.
    const service = openService(store)
    expect((await service.send('POST /things', { code: 'after' })).status).toBe(201)
    await service.handler.close()
  })
})
