import { expect } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import { type DropUniqueOptions, dropUniqueIndex } from '../../src/tools/migrate/index.js'
import {
  closeAfter,
  codeOf,
  configOf,
  type Law,
  type Migrating,
  migrate,
  migrating,
  open,
  store,
  summary,
  text,
  withStorage,
} from './migrate-laws.js'
import type { TestService } from './service.js'
import { until } from './until.js'

/** Unique indexes that an operator drops (CONTRACT.md §7, "Dropping a unique index"), whatever the storage. */

const MINUTE = 60_000

const START = Date.parse('2026-01-01T00:00:00Z')

const slug = { ...text, unique: true } as const

const before = configOf({ slug, team: text })
const after = configOf({ slug: text, team: text })

const SLUG = { collection: 'notes', fields: ['slug'] }

const drop = (
  over: Migrating,
  config: object,
  index: DropUniqueOptions,
  wrap?: (adapter: StorageAdapter) => StorageAdapter,
): Promise<void> =>
  withStorage(over, (adapter) => (over.drop ?? dropUniqueIndex)(config, adapter, index), wrap)

const refused = (...messages: readonly string[]) => ({
  name: 'ConfigError',
  message: expect.stringMatching(new RegExp(messages.join('[^]*'))),
})

/** Returns the statuses of two creates with the same values. */
async function createTwins({ send }: TestService, body: object): Promise<readonly number[]> {
  const statuses = []
  for (const one of [body, body])
    statuses.push((await send('POST /notes', { body: one, mayFail: true })).status)
  return statuses
}

export const DROP_UNIQUE_LAWS: readonly Law[] = [
  [
    'an index that is no longer declared stays in force until it is dropped',
    async (over) => {
      await store(over, before, [{ slug: 'x' }])
      const service = open(over, after)
      expect(await createTwins(service, { slug: 'y' })).toEqual([201, 409])
      // A process that does not declare it goes on.
      await drop(over, after, SLUG)
      expect(await createTwins(service, { slug: 'x' })).toEqual([201, 201])
    },
  ],
  [
    'an index over several fields is named in any order, and others stay',
    async (over) => {
      const indexes = [
        { fields: ['slug', 'team'], unique: true },
        { fields: ['team', 'rank'], unique: true },
      ]
      const schema = { slug: text, team: text, rank: text }
      await closeAfter(open(over, configOf(schema, { indexes })))
      const config = configOf(schema, { indexes: indexes.slice(1) })
      await drop(over, config, { collection: 'notes', fields: ['team', 'slug'] })
      const service = open(over, config)
      expect(await createTwins(service, { slug: 'x', team: 'a' })).toEqual([201, 201])
      expect(await createTwins(service, { rank: 'x', team: 'a' })).toEqual([201, 409])
    },
  ],
  [
    'an index is named by stored names',
    async (over) => {
      await closeAfter(open(over, before))
      const { notes } = configOf({ path: { ...text, stored: 'slug' } }).collections
      const config = { collections: { pages: { ...notes, stored: 'notes' } } }
      await expect(drop(over, config, { collection: 'pages', fields: ['path'] })).rejects.toMatchObject(
        refused('there is no unique index pages path', 'notes slug'),
      )
      await drop(over, config, SLUG)
    },
  ],
  [
    'an index that is still declared is kept',
    async (over) => {
      await store(over, before, [{ slug: 'x' }])
      await expect(drop(over, before, SLUG)).rejects.toMatchObject(
        refused('/collections/notes: notes slug is unique in this configuration'),
      )
      expect(await createTwins(open(over, before), { slug: 'y' })).toEqual([201, 409])
    },
  ],
  [
    'an index that does not exist is an error, which names those that do',
    async (over) => {
      await closeAfter(open(over, configOf({ slug, team: slug })))
      await expect(drop(over, after, { ...SLUG, fields: ['slug', 'team'] })).rejects.toMatchObject(
        refused('there is no unique index notes slug team', 'notes slug; notes team'),
      )
      for (const fields of [['slug'], ['team']]) await drop(over, after, { ...SLUG, fields })
      await expect(drop(over, after, SLUG)).rejects.toMatchObject(
        refused('the storage has none that this configuration does not declare'),
      )
    },
  ],
  [
    'an index is kept while a process that declares it serves',
    async (over) => {
      await store(over, before, [{ slug: 'x' }])
      const earlier = open(over, before)
      await earlier.handler.ready()
      await expect(drop(over, after, SLUG)).rejects.toMatchObject(
        refused('is declared by processes that serve', `process ${process.pid}, seen `),
      )
      // It goes on, and others like it may still start.
      expect(await createTwins(earlier, { slug: 'y' })).toEqual([201, 409])
      await closeAfter(open(over, before))
      await earlier.handler.close()
      await drop(over, after, SLUG)
    },
  ],
  [
    'a process that declares a dropped index reads and writes nothing when it resumes, until another one has created it',
    async (over) => {
      await store(over, before, [{ slug: 'x' }])
      let minutes = 0
      const now = () => START + minutes * MINUTE
      const paused = open(over, before, { now })
      await paused.handler.ready()
      minutes = 5
      await drop(over, after, { ...SLUG, now })
      const { status, body } = await paused.send('POST /notes', { body: { slug: 'x' }, mayFail: true })
      expect([status, body.code]).toEqual([503, 'storage_unavailable'])
      expect(JSON.stringify(body)).not.toMatch(/slug|unique|index/)
      await open(over, before, { now }).handler.ready()
      // It looks at most once a second.
      const isServing = async (): Promise<boolean> =>
        (await paused.send('GET /notes', { mayFail: true })).status === 200
      await until(isServing, 'a process that serves again', 30)
      expect(await createTwins(paused, { slug: 'y' })).toEqual([201, 409])
    },
  ],
  [
    'a process that declares a dropped index again creates it, and stays out if documents have equal values',
    async (over) => {
      await store(over, before, [{ slug: 'x' }])
      const paused = open(over, before, { now: () => START })
      await paused.handler.ready()
      await drop(over, after, SLUG)
      const service = open(over, after)
      const { body } = await service.send('POST /notes', { body: { slug: 'x' } })
      await expect(open(over, before).handler.ready()).rejects.toThrow('slug')
      await service.send(`DELETE /notes/${body._id}`)
      const again = open(over, before)
      expect(await createTwins(again, { slug: 'y' })).toEqual([201, 409])
    },
  ],
  [
    'a process that declares the index does not start while it is dropped, and a drop that was interrupted is repeated',
    async (over) => {
      await store(over, before, [{ slug: 'x' }])
      for (const isDropped of [false, true]) {
        const interrupted = (adapter: StorageAdapter): StorageAdapter => ({
          ...adapter,
          async dropUnique(collection, fields) {
            if (isDropped) await adapter.dropUnique?.(collection, fields)
            throw new Error('interrupted')
          },
        })
        await expect(drop(over, after, SLUG, interrupted)).rejects.toThrow('interrupted')
        await expect(open(over, before).handler.ready()).rejects.toThrow(
          'the unique index notes slug is being dropped',
        )
      }
      await drop(over, after, SLUG)
      expect(await createTwins(open(over, after), { slug: 'x' })).toEqual([201, 201])
    },
  ],
  [
    'an index that is declared again after its drop does not bind a migration',
    async (over) => {
      await store(over, before, [{ slug: 'x' }, { slug: 'y' }])
      await drop(over, after, SLUG)
      const code = codeOf({ m1: ({ slug }) => ({ set: { slug: slug === 'x' ? 'y' : 'z' } }) })
      const { steps } = await migrate(over, migrating(before, 'm1'), { migrations: code })
      expect(summary(steps)).toEqual([['migration', 'm1', 2, 0]])
      expect(await createTwins(open(over, migrating(before, 'm1')), { slug: 'x' })).toEqual([201, 409])
    },
  ],
]
