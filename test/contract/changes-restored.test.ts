import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { type Consumer, createCollectionService, type StorageAdapter } from '../../src/index.js'
import { type BackUp, backUpFile, backUpSchema } from '../support/backups.js'
import { told } from '../support/event-streams.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { ADMIN, config, useStreams } from './support/changes.js'

// CONTRACT.md §9, "Resuming", "Consumers"

const serve = useStreams()
const postgres = usePostgres()

/** Storages that outlast their adapters, and how each is backed up while none is open. */
const storages: readonly (readonly [
  name: string,
  create: () => { readonly connect: () => StorageAdapter; readonly backUp: BackUp },
])[] = [
  [
    'SQLite',
    () => {
      const file = join(mkdtempSync(join(tmpdir(), 'collection-service-restored-')), 'data.db')
      return { connect: () => createSqliteAdapter({ file }), backUp: backUpFile(file) }
    },
  ],
  [
    'PostgreSQL',
    () => {
      const [connectionString, schema] = [postgres.url, newSchema()]
      return {
        connect: () => createPostgresAdapter({ connectionString, schema }),
        backUp: backUpSchema(connectionString, schema),
      }
    },
  ],
]

describe.each(storages)('a backup of %s that is restored', (_, create) => {
  test('resets a stream that resumes from an undone change', async () => {
    const { connect, backUp } = create()
    const first = await serve({ adapter: connect() })
    const early = await first.open('/notes/changes', { caller: ADMIN })
    const { _id } = await first.write('POST /notes', { text: 'kept' })
    const [, kept] = await early.until(2)
    await early.close()
    await first.handler.close()
    const restore = await backUp()

    const second = await serve({ adapter: connect() })
    const late = await second.open('/notes/changes', { caller: ADMIN })
    await second.write(`PATCH /notes/${_id}`, { text: 'undone' })
    await second.write('POST /notes', { text: 'undone, too' })
    const undone = (await late.until(3)).slice(1)
    await late.close()
    // A `reset` at the end, too.
    const end = await second.open('/notes/changes', { caller: ADMIN })
    await end.close()
    await second.handler.close()
    await restore()

    const third = await serve({ adapter: connect() })
    const goOn = (id: string | undefined) =>
      third.open('/notes/changes', { caller: ADMIN, headers: { 'last-event-id': id ?? '' } })
    const lost = [...undone, ...end.events].map(({ id }) => id)
    for (const id of lost) expect(told((await goOn(id)).events)).toEqual([['reset', {}]])
    // The log grows as far again, and further.
    await third.write(`PATCH /notes/${_id}`, { text: 'a' })
    await third.write(`PATCH /notes/${_id}`, { text: 'b' })
    await third.write(`PATCH /notes/${_id}`, { text: 'c' })
    for (const id of lost) expect(told((await goOn(id)).events)).toEqual([['reset', {}]])
    const goesOn = await goOn(kept?.id)
    const texts = (await goesOn.until(3)).map(({ event, data }) => [event, data.text])
    expect(texts).toEqual(['a', 'b', 'c'].map((text) => ['change', text]))
  })

  test('gives later changes names of their own', async () => {
    const { connect, backUp } = create()
    const names: string[] = []
    let wake = (): void => {}
    /** Serves with a consumer until it has been told of so many changes in all. */
    const consume = async (count: number, line: string, text: string): Promise<string> => {
      const handle: Consumer['handle'] = async (_, { id }) => {
        names.push(id)
        wake()
      }
      const consumers = { told: { collections: ['notes' as const], handle } }
      const handler = createCollectionService(config, connect(), { consumers, production: false })
      const [method = '', path] = line.split(' ')
      const init = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text }) }
      const answer = await handler.as(ADMIN)(new Request(`http://service.test${path}`, init))
      const { _id } = await answer.json()
      while (names.length < count)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      await handler.close()
      return _id
    }
    const id = await consume(1, 'POST /notes', 'kept')
    const restore = await backUp()
    await consume(2, `PATCH /notes/${id}`, 'undone')
    await restore()
    // The same version of the same document.
    await consume(3, `PATCH /notes/${id}`, 'again')
    expect(new Set(names).size).toBe(3)
  })
})
