import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'

// CONTRACT.md §7, "The client"

const permissions = { '*': { read: true, create: true, update: true } } as const
const collections = { notes: { schema: { n: { type: 'integer' } }, permissions } } as const

const serve = (limits: object, count: number, more: object = {}) => {
  const documents = { notes: Array.from({ length: count }, (_, n) => ({ n })) }
  return createCollectionService({ collections, limits }, createMemoryAdapter({ documents }), more)
}

describe('pages', () => {
  test.each([
    [{}, [1000, 1000, 500]],
    [{ defaultLimit: 2000 }, [1000, 1000, 500]],
    [{ maxLimit: 2000 }, [1000, 1000, 500]],
    [{ defaultLimit: 700 }, [1000, 1000, 500]],
    [{ maxLimit: 900 }, [900, 900, 700]],
    [{ defaultLimit: 800, maxLimit: 900 }, [800, 800, 800, 100]],
  ])(
    'are whole, and at most 1,000 documents each, whatever the service allows: %j',
    async (limits, sizes) => {
      const { notes } = { notes: createClient(serve(limits, 2500)).collection('notes') }
      const pages: number[][] = []
      for await (const page of notes.pages({ sort: { n: 1 } })) pages.push(page.map(({ n }) => Number(n)))
      expect(pages.map(({ length }) => length)).toEqual(sizes)
      expect(pages.flat()).toEqual(Array.from({ length: 2500 }, (_, n) => n))
    },
  )
})

describe('a service with a base path', () => {
  test('is reached where it is in the same process, and so is the api of a hook', async () => {
    const seen: number[] = []
    const hooks = {
      notes: {
        async before({ api }: { api: Parameters<typeof createClient>[0] }) {
          seen.push(
            await createClient(api)
              .collection('notes' as never)
              .count(),
          )
        },
      },
    }
    const service = serve({}, 2, { basePath: '/api/', hooks })
    const notes = createClient(service).collection('notes')
    await notes.create({ n: 2 })
    expect([await notes.count(), seen]).toEqual([3, [2]])
    expect(
      await createClient(service.as({ id: 'ann' }))
        .collection('notes')
        .count(),
    ).toBe(3)
    expect(service.basePath).toBe('/api')
  })
})

/** What JavaScript lets through. */
interface Misspelt {
  readonly notes: { update(...given: readonly unknown[]): unknown }
}

test('a condition or an id that is misspelt is never lost', async () => {
  const client = createClient(serve({}, 0))
  const notes = client.collection('notes')
  const note = await notes.create({ n: 1 })
  await notes.update(note._id, { n: 2 })
  const misspelt = { ifUnchange: true, Id: 'x' } as object
  await expect(client.batch((b) => [b.notes.get(note, misspelt)])).rejects.toThrow('ifUnchange is unknown')
  await expect(client.batch((b) => [b.notes.create({}, { Id: 'x' } as object)])).rejects.toThrow(
    'Id is unknown',
  )
  await expect(notes.create({}, { Id: 'x' } as object)).rejects.toThrow('Id is unknown')
  const update = (b: object) => [(b as Misspelt).notes.update(note, { n: 3 }, misspelt)]
  await expect(client.batch(update as never)).rejects.toThrow('ifUnchange is unknown')
  expect(await notes.count()).toBe(1)
})
