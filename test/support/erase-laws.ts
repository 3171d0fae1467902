import { expect } from 'vitest'
import {
  codeOf,
  configOf,
  type Law,
  listAll,
  type Migrating,
  migrate,
  migrating,
  open,
  readAll,
  store,
  summary,
  text,
} from './migrate-laws.js'
import { idOf } from './stored.js'

/** Values that a run removes (CONTRACT.md §1, "Erase"), whatever the storage. */

const erasing = (schema: object, names: readonly string[], settings: object = {}) =>
  configOf(schema, { erase: names, ...settings })

/** Erases, after a dry run that says the same and changes nothing. */
async function erase(over: Migrating, config: object) {
  const before = await listAll(over)
  const planned = await migrate(over, config, { erase: true, dryRun: true })
  expect(await listAll(over)).toEqual(before)
  const { steps } = await migrate(over, config, { erase: true })
  expect(planned.steps).toEqual(steps)
  return summary(steps)
}

export const ERASE_LAWS: readonly Law[] = [
  [
    'an erased value is removed, and no other',
    async (over) => {
      await store(over, configOf({ a: text, note: text }), [
        { a: 'x', note: 'y', other: 1 },
        { a: 'x' },
        { note: null },
      ])
      expect(await erase(over, erasing({ a: text }, ['note']))).toEqual([['erase', 'notes.note', 2, 0]])
      expect(await readAll(over)).toEqual([{ a: 'x', other: 1 }, { a: 'x' }, {}])
    },
  ],
  [
    'of a former secret, the hash is removed',
    async (over) => {
      await store(over, configOf({ a: text, s: { type: 'hash' }, t: { type: 'hash' } }), [
        { _hashes: { s: 'h', t: 'i' } },
      ])
      expect(await erase(over, erasing({ a: text, t: { type: 'hash' } }, ['s']))).toEqual([
        ['erase', 'notes.s', 1, 0],
      ])
      expect((await listAll(over))[0]).toMatchObject({ _hashes: { t: 'i' } })
      expect(JSON.stringify(await listAll(over))).not.toContain('"h"')
    },
  ],
  [
    'a name that a field has, and that is stored under another one, is erased by its stored name',
    async (over) => {
      await store(over, configOf({ old: text, note: text }), [{ old: 'x', note: 'y' }])
      const config = erasing({ note: { ...text, stored: 'old' } }, ['note'])
      expect(await erase(over, config)).toEqual([['erase', 'notes.note', 1, 0]])
      expect(await readAll(over)).toEqual([{ old: 'x' }])
      const [shown] = (await open(over, config).send('GET /notes')).body
      expect(shown.note).toBe('x')
    },
  ],
  [
    'nothing is erased unless the run is told to, and a second run writes nothing',
    async (over) => {
      await store(over, configOf({ a: text, note: text }), [{ note: 'y' }])
      const config = erasing({ a: text }, ['note'])
      expect(summary((await migrate(over, config)).steps)).toEqual([])
      expect(await readAll(over)).toEqual([{ note: 'y' }])
      await erase(over, config)
      const before = await listAll(over)
      expect(await erase(over, config)).toEqual([])
      expect(await listAll(over)).toEqual(before)
    },
  ],
  [
    'a migration sees what is to be erased, and nothing is erased before all are finished',
    async (over) => {
      await store(over, configOf({ a: text, note: text }), [{ note: 'y' }])
      const config = migrating(erasing({ a: text }, ['note']), 'm1')
      let isFailing = true
      const code = codeOf({
        m1({ note }) {
          if (isFailing) throw new Error('not yet')
          return { set: { a: `${note}!` } }
        },
      })
      const options = { migrations: code, erase: true }
      expect(summary((await migrate(over, config, options)).steps)).toEqual([
        ['migration', 'm1', 0, 1, idOf(1)],
      ])
      expect(await readAll(over)).toEqual([{ note: 'y' }])
      isFailing = false
      expect(summary((await migrate(over, config, options)).steps)).toEqual([
        ['migration', 'm1', 1, 0],
        ['erase', 'notes.note', 1, 0],
      ])
      expect(await readAll(over)).toEqual([{ a: 'y!' }])
    },
  ],
  [
    'no field is stored under an erased name again',
    async (over) => {
      await store(over, configOf({ a: text, note: text }), [{ note: 'y' }])
      await erase(over, erasing({ a: text }, ['note']))
      await expect(open(over, configOf({ a: text, note: text })).handler.ready()).rejects.toMatchObject({
        name: 'ConfigError',
        faults: [
          { path: '/collections/notes/schema/note', message: expect.stringContaining('"stored": "note2"') },
        ],
      })
      await open(over, configOf({ a: text, note: { ...text, stored: 'note2' } })).handler.ready()
    },
  ],
  [
    'with additionalProperties, a name to be erased is neither shown nor accepted, before and after',
    async (over) => {
      const free = { additionalProperties: true }
      await store(over, configOf({ a: text }, free), [{ note: 'y' }])
      const config = erasing({ a: text }, ['note'], free)
      const isReserved = async (given: object): Promise<void> => {
        const service = open(over, given)
        const [shown] = (await service.send('GET /notes')).body
        expect(shown).not.toHaveProperty('note')
        const created = await service.send('POST /notes', { body: { note: 'z' } })
        expect(created.body.errors).toMatchObject([{ path: '/note', code: 'unknown_property' }])
        await service.handler.close()
      }
      await isReserved(config)
      expect(await erase(over, config)).toEqual([['erase', 'notes.note', 1, 0]])
      await isReserved(config)
      // It stays reserved when it leaves the list.
      await isReserved(configOf({ a: text }, free))
    },
  ],
  [
    'erasing does not run while a process serves that can store the name, which goes on',
    async (over) => {
      const free = { additionalProperties: true }
      await store(over, configOf({ a: text, note: text }, free), [{ note: 'y' }])
      for (const [earlier, config] of [
        [configOf({ a: text, note: text }), erasing({ a: text }, ['note'])],
        [configOf({ a: text }, free), erasing({ a: text }, ['note'], free)],
      ] as const) {
        const service = open(over, earlier)
        await service.handler.ready()
        await expect(migrate(over, config, { erase: true })).rejects.toMatchObject({
          name: 'ConfigError',
          faults: [
            {
              path: '/collections/notes/erase',
              message: expect.stringContaining(`process ${process.pid}, seen `),
            },
          ],
        })
        expect(await readAll(over)).toEqual([{ note: 'y' }])
        expect((await service.send('GET /notes')).status).toBe(200)
        await service.handler.close()
      }
      // A process that cannot store it does not matter.
      await open(over, configOf({ a: text })).handler.ready()
      expect(await erase(over, erasing({ a: text }, ['note']))).toEqual([['erase', 'notes.note', 1, 0]])
    },
  ],
]
