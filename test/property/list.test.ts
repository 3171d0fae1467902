import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMemoryAdapter, type StoredDocument } from '../../src/index.js'
import { expectList } from '../support/oracle.js'
import { createTestService } from '../support/service.js'
import { queriesOf, type World, worlds, writeQuery } from '../support/worlds.js'

async function openWorld({ collection, documents }: World) {
  const adapter = createMemoryAdapter()
  const service = createTestService({ collections: { things: collection } }, { adapter })
  await service.handler.ready()
  // Straight into the storage: some of it no body could bring in.
  const steps = documents.map((document) => ({
    in: 'things',
    insert: { ...document, _version: 1 } as unknown as StoredDocument,
  }))
  expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
  return service
}

const worldsWithQueries = worlds.chain((world) =>
  fc.tuple(fc.constant(world), fc.array(queriesOf(world.collection.schema), { minLength: 4, maxLength: 8 })),
)

test('a list is the slice of the sorted, filtered documents that its caller sees, and nothing else', async () => {
  let refused = 0
  let some = 0
  await fc.assert(
    fc.asyncProperty(worldsWithQueries, async ([world, asked]) => {
      const { send } = await openWorld(world)
      for (const query of asked) {
        const expected = expectList(world.collection, world.documents, world.caller, query)
        const { status, body } = await send(`GET /things?${writeQuery(query)}`, { caller: world.caller })
        if (typeof expected === 'number') {
          refused += 1
          expect(status).toBe(expected)
        } else {
          expect(body).toEqual(expected)
          if (expected.length > 0 && expected.length < world.documents.length) some += 1
        }
        const { conditions } = query
        const all = expectList(world.collection, world.documents, world.caller, {
          conditions,
          sort: [],
          ignoreCase: query.ignoreCase ?? false,
        })
        const count = await send(
          `GET /things/count?${writeQuery({ conditions, sort: [], ignoreCase: query.ignoreCase ?? false })}`,
          {
            caller: world.caller,
          },
        )
        if (typeof all === 'number') expect(count.status).toBe(all)
        else expect(count.body).toEqual({ total: all.length })
      }
    }),
    { numRuns: 400 },
  )
  // The generator must not have missed the point.
  expect(refused).toBeGreaterThan(100)
  expect(some).toBeGreaterThan(100)
})
