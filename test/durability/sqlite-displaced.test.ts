import { readdirSync, renameSync, rmSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../src/adapters/sqlite/connection/connection.js'
import { type OpenStream, readStream } from '../support/event-streams.js'
import { until } from '../support/until.js'
import { expectNoFaults, openService, type Service } from './support/service.js'
import { type Store, useSqliteStores } from './support/stores.js'
import { endWorkers, startWorker } from './support/workers.js'

// CONTRACT.md §7, "Storage"

/** The file of a service, or its log, is deleted or replaced while it is open. */

endWorkers()
expectNoFaults()
const stores = useSqliteStores()

const config = {
  collections: {
    things: {
      changes: true,
      schema: { code: { type: 'string', unique: true }, n: { type: 'integer' } },
      permissions: { '*': true },
    },
  },
} as const

const opened: { close(): Promise<unknown> }[] = []
beforeEach(() => void vi.spyOn(process, 'emitWarning').mockImplementation(() => {}))
afterEach(async () => {
  vi.restoreAllMocks()
  for (const one of opened.splice(0).reverse()) await one.close()
})

interface Opened extends Service {
  readonly file: string
  /** The codes of all documents. */
  codes(): Promise<readonly string[]>
  create(code: string): Promise<string | number>
  listen(): Promise<OpenStream>
}

/** Another service over the same file, as in another process. */
function serve(store: Store): Opened {
  if (store.engine !== 'sqlite') throw new Error('not a file')
  const service = openService(store, {}, config)
  opened.push(service.handler)
  return {
    ...service,
    file: store.options.file,
    async codes() {
      const { status, body } = await service.send('GET /things?sort[code]=1')
      expect(status).toBe(200)
      return body.map(({ code }: { readonly code: string }) => code)
    },
    async create(code) {
      const { status, code: problem } = await service.send('POST /things', { code })
      return status === 201 ? status : problem
    },
    async listen() {
      const response = await service.handler(new Request('http://service.test/things/changes'))
      const stream = readStream(response)
      opened.push(stream)
      await stream.until(1)
      return stream
    },
  }
}

const ENDINGS = ['', '-wal', '-shm'] as const

const removeAll = (file: string): void => {
  for (const ending of ENDINGS) rmSync(`${file}${ending}`, { force: true })
}

/** A backup of all that is committed. */
async function backUp(file: string): Promise<string> {
  const other = new Database(file)
  await other.backup(`${file}.backup`)
  other.close()
  return `${file}.backup`
}

/** Waits until reads know that there is no file: they look every few milliseconds. */
const untilGone = ({ send }: Service): Promise<void> =>
  until(async () => (await send('GET /things')).status === 503)

const UNAVAILABLE = { status: 503, code: 'storage_unavailable', retryAfter: '1' }

describe('a log that another library has removed', () => {
  test.each(['checkpoint', 'library'])('by a %s, loses nothing that was acknowledged', async (way) => {
    const store = stores.create()
    const worker = startWorker()
    worker.begin('displace', { config, store, way })
    await worker.printed(/^waiting$/)
    await worker.kill()
    const acknowledged = worker.lines().flatMap((line) => /^acknowledged (.*)/.exec(line)?.slice(1) ?? [])
    const answers = worker.lines().flatMap((line) => /^answered (.*)/.exec(line)?.slice(1) ?? [])
    // After it has noticed, it goes on.
    expect(answers.at(-1)).toBe('201')
    expect(['201', 'outcome_unknown']).toEqual(expect.arrayContaining([...new Set(answers)]))
    expect(await serve(store).codes()).toEqual(expect.arrayContaining(acknowledged))
  })

  test('is noticed by who only reads', async () => {
    const service = serve(stores.create())
    expect(await service.create('a')).toBe(201)
    const stream = await service.listen()
    const { file } = service
    const other = new Database(file)
    other.pragma('wal_checkpoint(TRUNCATE)')
    for (const ending of ['-wal', '-shm']) rmSync(`${file}${ending}`)
    other.close()
    expect((await stream.until(2)).map(({ event }) => event)).toEqual(['reset', 'reset'])
    expect(await service.create('b')).toBe(201)
    expect(await service.codes()).toEqual(['a', 'b'])
  })
})

describe('a file that is deleted', () => {
  test('during a commit, makes the outcome of all that share it unknown', async () => {
    const service = serve(stores.create())
    expect(await service.create('a')).toBe(201)
    const { execute } = Connection.prototype
    const spy = vi.spyOn(Connection.prototype, 'execute').mockImplementation(function (
      this: Connection,
      sql,
    ) {
      if (sql === 'COMMIT') removeAll(service.file)
      return execute.call(this, sql)
    })
    const shared = await Promise.all(['b', 'c'].map((code) => service.create(code)))
    spy.mockRestore()
    expect(shared).toEqual(['outcome_unknown', 'outcome_unknown'])
    expect(await service.create('d')).toBe('storage_unavailable')
    expect(process.emitWarning).toHaveBeenCalledTimes(1)
    expect(process.emitWarning).toHaveBeenCalledWith(expect.anything(), {
      code: 'COLLECTION_SERVICE_SQLITE_REPLACED',
    })
  })

  test('leaves every request unavailable until there is one again, and creates none', async () => {
    const service = serve(stores.create())
    const { file, send } = service
    for (const code of ['a', 'b']) expect(await service.create(code)).toBe(201)
    const { _id } = (await send('GET /things')).body[0]
    expect((await send('GET /things/count')).body).toEqual({ total: 2 })
    const stream = await service.listen()
    const backup = await backUp(file)
    removeAll(file)
    await untilGone(service)
    const requests: readonly (readonly [line: string, body?: object])[] = [
      ['GET /things'],
      [`GET /things/${_id}`],
      ['GET /things/count'],
      ['GET /things/changes'],
      ['POST /things', { code: 'c' }],
      [`PATCH /things/${_id}`, { n: 1 }],
      [`DELETE /things/${_id}`],
      ['POST /_batch', { operations: [{ method: 'POST', path: '/things', body: {} }] }],
    ]
    for (const [line, body] of requests) expect(await send(line, body)).toMatchObject(UNAVAILABLE)
    expect(readdirSync(dirname(file)).filter((name) => name.startsWith(basename(file)))).toEqual([
      basename(backup),
    ])
    renameSync(backup, file)
    expect(await service.codes()).toEqual(['a', 'b'])
    expect((await send('GET /things/count')).body).toEqual({ total: 2 })
    // Nothing is missing in the log, but the files are others.
    expect((await stream.until(2))[1]?.event).toBe('reset')
    expect(await service.create('c')).toBe(201)
    expect((await stream.until(3))[2]?.data.code).toBe('c')
  })

  test('and put back, is as it was', async () => {
    const service = serve(stores.create())
    const { file } = service
    expect(await service.create('a')).toBe(201)
    renameSync(file, `${file}.away`)
    await untilGone(service)
    renameSync(`${file}.away`, file)
    expect(await service.create('b')).toBe(201)
    expect(await service.codes()).toEqual(['a', 'b'])
  })

  test('and put back after the service was closed, is as it was', async () => {
    const store = stores.create()
    const service = serve(store)
    const { file } = service
    expect(await service.create('a')).toBe(201)
    renameSync(file, `${file}.away`)
    await service.handler.close()
    renameSync(`${file}.away`, file)
    expect(await serve(store).codes()).toEqual(['a'])
  })

  test('where it ends with the process anyway, is still used', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'collection-service-temporary-'))
    vi.stubEnv('TMPDIR', folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    const service = serve({ engine: 'sqlite', options: { file: ':memory:' } })
    expect(await service.create('a')).toBe(201)
    await rm(folder, { recursive: true })
    expect(await service.create('b')).toBe(201)
    expect(await service.codes()).toEqual(['a', 'b'])
  })
})

describe('a file that is replaced', () => {
  test.each([
    ['with its log', ['-wal', '-shm']],
    ['without its log', []],
  ] as const)('%s, is opened by all that have it open', async (_, removed) => {
    const store = stores.create()
    const [one, two] = [serve(store), serve(store)]
    const { file } = one
    expect(await one.create('a')).toBe(201)
    const backup = await backUp(file)
    for (const code of ['b', 'c', 'd']) expect(await two.create(code)).toBe(201)
    expect((await one.send('GET /things/count')).body).toEqual({ total: 4 })
    const streams = [await one.listen(), await two.listen()]
    for (const ending of removed) rmSync(`${file}${ending}`)
    renameSync(backup, file)
    const answer = await one.create('e')
    // The write notices it before it begins, behind its commit, or not at all: it went to the new file.
    expect(['storage_unavailable', 'outcome_unknown', 201]).toContain(answer)
    await until(async () => (await one.codes()).length < 4 && (await two.codes()).length < 4)
    const expected = answer === 201 ? ['a', 'e'] : ['a']
    for (const service of [one, two]) {
      expect(await service.codes()).toEqual(expected)
      expect((await service.send('GET /things/count')).body).toEqual({ total: expected.length })
    }
    for (const stream of streams) expect((await stream.until(2))[1]?.event).toBe('reset')
    // Uniqueness is judged by the new file.
    expect(await one.create('b')).toBe(201)
    expect(await two.create('b')).toBe('unique_violation')
    expect(await two.create('c')).toBe(201)
    for (const { events } of streams) {
      await until(() => events.at(-1)?.data.code === 'c')
      expect(events.at(-2)?.data.code).toBe('b')
    }
    // The log of the former file was not applied to this one, and not deleted.
    const aside = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}-wal-`))
    expect(aside).toHaveLength(removed.length > 0 ? 0 : 1)
    await Promise.all([one, two].map(({ handler }) => handler.close()))
    const other = new Database(file)
    expect(other.pragma('integrity_check', { simple: true })).toBe('ok')
    other.close()
  })

  test('by one of another configuration, gets what it lacks', async () => {
    const service = serve(stores.create())
    const { file } = service
    expect(await service.create('a')).toBe(201)
    const empty = new Database(`${file}.empty`)
    empty.exec('CREATE TABLE other (a)')
    empty.close()
    removeAll(file)
    renameSync(`${file}.empty`, file)
    await until(async () => (await service.create('a')) === 201)
    expect(await service.create('a')).toBe('unique_violation')
    expect(await service.codes()).toEqual(['a'])
  })

  test('by something else, leaves every request unavailable, and is left as it is', async () => {
    const service = serve(stores.create())
    const { file } = service
    expect(await service.create('a')).toBe(201)
    await copyFile(new URL(import.meta.url), `${file}.text`)
    removeAll(file)
    renameSync(`${file}.text`, file)
    await untilGone(service)
    expect(await service.send('POST /things', { code: 'b' })).toMatchObject(UNAVAILABLE)
    expect(await service.send('GET /things')).toMatchObject(UNAVAILABLE)
  })
})
