import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createD1Adapter } from '../../src/adapters/sqlite/programs/d1.js'
import { createDurableObjectAdapter } from '../../src/adapters/sqlite/programs/durable-object.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { readStream } from '../support/event-streams.js'
import { createD1Database, createObjectStorage } from '../support/program-databases.js'
import { closing, PROGRAM_STORAGES } from '../support/program-storages.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §7, "Storage": what somebody would try on a service in a Worker

const text = { type: 'string' }
const CONFIG = {
  collections: {
    notes: {
      schema: { name: { ...text, unique: true }, pattern: text, secret: text },
      permissions: { '*': { create: true, read: { omit: ['secret'] }, update: { check: {} }, delete: true } },
      changes: true,
    },
    users: {
      schema: {
        email: { ...text, unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions: { '*': { create: true } },
    },
  },
  auth: { identifier: 'email', secret: 'password' },
} as const

const newFile = (): string => join(mkdtempSync(join(tmpdir(), 'collection-service-workers-')), 'data.db')

const open = (adapter: StorageAdapter): TestService => createTestService(CONFIG, { adapter })

/** What no answer is the same in: the request, and the times and ids that a service gives. */
const plain = ({ status, text: body }: Sent): readonly unknown[] => [
  status,
  body
    .replaceAll(/"(?:requestId|createdAt|updatedAt|_id)":"[^"]*"/g, '')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID'),
]

/** Texts that mean something to a statement, a path in JSON, a guard of a program, or a pattern of SQLite. */
const TEXTS = [
  "'refused 0'",
  "bad JSON path: 'refused 1'",
  'UNIQUE constraint failed: notes.name',
  'SQLITE_BUSY: database is locked',
  'no such column: x',
  "x'); DROP TABLE c_notes; --",
  '$[0]',
  '$.name',
  '?1',
  '*[a-z]?',
  '%_\\',
  '"',
  '\u0000',
  'true',
]

describe.each(PROGRAM_STORAGES)('on %s', (_, create) => {
  test('a text that the storage could take for its own changes no answer', async () => {
    const services = [createMemoryAdapter(), create()].map(open)
    const ask = async ({ send }: TestService): Promise<readonly unknown[]> => {
      const answers: Sent[] = []
      for (const [i, one] of TEXTS.entries()) {
        const q = encodeURIComponent(JSON.stringify({ name: one }))
        const prefix = encodeURIComponent(
          one.replaceAll(/[^a-zA-Z0-9 ]/g, '\\$&').replaceAll('\u0000', '\\x00'),
        )
        answers.push(await send('POST /notes', { body: { name: one, pattern: one, secret: one } }))
        const { _id } = answers.at(-1)?.body ?? {}
        answers.push(await send('POST /notes', { body: { name: one } }))
        answers.push(await send(`GET /notes?q=${q}`))
        answers.push(await send(`GET /notes?q[pattern][$regex]=^${prefix}$`))
        answers.push(await send(`GET /notes/count?q[pattern][$gte]=${encodeURIComponent(one)}`))
        answers.push(await send(`PATCH /notes/${_id}`, { body: { name: TEXTS[0], pattern: `${i}${one}` } }))
        answers.push(await send(`PATCH /notes/${_id}`, { body: { pattern: one } }))
        const operations = [
          { method: 'PATCH', path: `/notes/${_id}`, body: { pattern: `${one}!` } },
          { method: 'POST', path: '/notes', body: { name: one } },
        ]
        answers.push(await send('POST /_batch', { body: { operations } }))
      }
      answers.push(await send('GET /notes?sort[name]=1'))
      return answers.map(plain)
    }
    const [inMemory, here] = await Promise.all(services.map(ask))
    expect(here).toEqual(inMemory)
    const statuses = here?.map((answer) => (answer as readonly unknown[])[0])
    expect(statuses).toEqual(expect.arrayContaining([200, 201, 409]))
  })
})

describe('of what a database says,', () => {
  const SAID = `D1_ERROR: near "hunter2": syntax error in INSERT INTO c_notes VALUES ('hunter2')`

  test.each([
    ['an error', () => new Error(SAID)],
    ['an error of SQLite', () => new Error(`${SAID}: SQLITE_ERROR`)],
    ['a lost connection', () => new TypeError(`fetch failed: ${SAID}`)],
    ['no space', () => new Error(`${SAID}: SQLITE_FULL`)],
    ['a row that is too large', () => new Error(`${SAID}: string or blob too big: SQLITE_TOOBIG`)],
  ])('no answer has anything: %s', async (_, fault) => {
    const database = createD1Database(newFile())
    let isBroken = false
    const adapter = createD1Adapter({
      prepare: (statement) => database.prepare(statement),
      batch: async (statements) => {
        if (isBroken) throw fault()
        return database.batch(statements)
      },
    })
    const { send, handler } = open(closing(database, () => adapter))
    await handler.ready()
    isBroken = true
    for (const [line, body] of [
      ['GET /notes'],
      [`GET /notes/${idOf(1)}`],
      ['GET /notes/count'],
      ['GET /notes/aggregate?by[name]=value'],
      ['POST /notes', { name: 'n', secret: 'hunter2' }],
      [`PATCH /notes/${idOf(1)}`, { name: 'n' }],
      [`DELETE /notes/${idOf(1)}`],
      ['POST /_batch', { operations: [{ method: 'POST', path: '/notes', body: { name: 'n' } }] }],
      ['POST /auth/login', { email: 'ann@example.com', password: 'hunter2' }],
    ] as const) {
      const { status, headers, text: answer } = await send(line, { mayFail: true, ...(body ? { body } : {}) })
      expect([413, 500, 503], `${line}: ${answer}`).toContain(status)
      expect([answer, ...[...headers].flat()].join('\n'), line).not.toMatch(
        /hunter2|c_notes|INSERT|SQLITE|D1_/,
      )
    }
  })
})

test('objects of one module never meet: documents, sessions, streams', async () => {
  const services = [1, 2].map(() => open(closing(createObjectStorage(newFile()), createDurableObjectAdapter)))
  const [here, there] = services as [TestService, TestService]
  const user = { email: 'ann@example.com', password: 'correct horse' }
  const { token } = await here.register(user)
  const stream = readStream(await there.handler(new Request('http://service.test/notes/changes')))
  await stream.until(1)
  const { body } = await here.send('POST /notes', { token, body: { name: 'mine' } })
  expect((await here.send('GET /notes')).body).toHaveLength(1)

  expect((await there.send('GET /notes')).body).toEqual([])
  expect((await there.send(`GET /notes/${body._id}`)).status).toBe(404)
  expect((await there.send('GET /auth/me', { token })).status).toBe(401)
  expect((await there.send('POST /auth/login', { body: user })).status).toBe(401)
  await there.register(user)
  expect((await there.send('POST /notes', { body: { name: 'mine' } })).status).toBe(201)
  await stream.until(2)
  await stream.close()
  expect(stream.text).not.toContain(body._id)
})
