import { describe, expect, test } from 'vitest'
import type { FieldDefinition } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'

/** A start that fails makes nothing unique (CONTRACT.md §7, "Storage"). */

const text: FieldDefinition = { type: 'string' }
const unique: FieldDefinition = { type: 'string', unique: true }

type Schemas = Readonly<Record<string, Readonly<Record<string, FieldDefinition>>>>

const TWINS = ['x', 'x'].map((b, i) => ({ a: `${i + 1}`, b }))

describe.each(useLastingStorages())(
  'a start over documents that are not unique in %s',
  (_, createLasting) => {
    const opened = closeAfterEach()

    const createStarts = () => {
      const create = createLasting()
      return (schemas: Schemas) => {
        const collections = Object.fromEntries(
          Object.entries(schemas).map(([name, schema]) => [name, { schema, permissions: { '*': true } }]),
        )
        const service = createTestService({ collections }, { adapter: create() })
        opened.push(service)
        return service
      }
    }

    test.each<[string, Schemas, Schemas, string]>([
      ['of one collection', { notes: { a: text, b: text } }, { notes: { a: unique, b: unique } }, 'notes'],
      [
        'of two collections',
        { first: { a: text }, notes: { a: text, b: text } },
        { first: { a: unique }, notes: { a: text, b: unique } },
        'first',
      ],
      [
        'beside a new collection',
        { notes: { a: text, b: text } },
        { fresh: { a: unique }, notes: { a: text, b: unique } },
        'fresh',
      ],
    ])('%s leaves nothing in force', async (_name, before, wanted, into) => {
      const start = createStarts()
      const former = start(before)
      for (const body of TWINS) {
        const sent = await former.send('POST /notes', { body })
        expect(sent.status).toBe(201)
      }
      await former.handler.close()
      const refused = start(wanted)
      await expect(refused.handler.ready()).rejects.toMatchObject({
        message: expect.stringContaining('documents of notes have the same b'),
      })
      await refused.handler.close()

      const loose = Object.fromEntries(
        Object.entries(wanted).map(([name, schema]) => [
          name,
          Object.fromEntries(Object.keys(schema).map((field) => [field, text])),
        ]),
      )
      const again = start(loose)
      for (const a of ['1', '1']) {
        const sent = await again.send(`POST /${into}`, { body: { a } })
        expect(sent.status).toBe(201)
      }
    })

    test('is made good by what makes them unique', async () => {
      const start = createStarts()
      const former = start({ notes: { a: text, b: text } })
      const [, second] = await Promise.all(TWINS.map((body) => former.send('POST /notes', { body })))
      const wanted = { notes: { a: unique, b: unique } }
      await expect(start(wanted).handler.ready()).rejects.toThrow()
      await former.send(`PATCH /notes/${second?.body._id}`, { body: { b: 'y' } })
      const service = start(wanted)
      for (const body of [{ a: '1' }, { b: 'y' }]) {
        const sent = await service.send('POST /notes', { body })
        expect(sent.status).toBe(409)
      }
    })
  },
)
