import { expect, test } from 'vitest'
import type { RequestEvent } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { createStored, idOf } from '../support/stored.js'

// CONTRACT.md §7, "Stored documents": what a start tells of stored documents, and to whom

const text = { type: 'string' } as const
const config = {
  collections: {
    notes: {
      schema: { title: text, code: { type: 'string', maxLength: 3 }, n: { type: 'integer' } },
      permissions: { '*': { read: { pick: ['title'] } } },
    },
    vaults: { schema: { code: { type: 'integer' } }, permissions: {} },
  },
} as const

const SECRET = 'zeta-4711'
const documents = {
  notes: [
    { title: 'a', code: SECRET, n: SECRET },
    { title: 'b', [`old ${'x'.repeat(3)}`]: SECRET, nested: { deep: SECRET } },
  ],
  vaults: [{ code: SECRET }],
}

async function start(stored: { readonly [collection: string]: readonly object[] }) {
  const work: Promise<void>[] = []
  const events: RequestEvent[] = []
  const service = createTestService(config, {
    adapter: await createStored(stored),
    background: (promise) => void work.push(promise),
    observe: (event) => void events.push(event),
    holdsOthers: true,
  })
  await service.handler.ready()
  await Promise.all(work)
  return { ...service, events }
}

test('the log of a start names fields and _ids, and no stored value', async () => {
  const { logged } = await start(documents)
  const lines = JSON.stringify(logged)
  expect(logged.length).toBeGreaterThanOrEqual(4)
  expect(lines).toContain(idOf(1))
  expect(lines).not.toContain(SECRET)
})

test.each([
  ['a line break', 'a\n{"level":"error"}'],
  ['a sequence for terminals', '\u001b[2Ja'],
  ['a prototype', '__proto__'],
])('a stored name with %s is quoted in the log', async (_, name) => {
  const { logged } = await start({ notes: [JSON.parse(`{ ${JSON.stringify(name)}: 1 }`)], vaults: [] })
  const lines = logged.map(([line]) => String(line))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a line
  expect(lines.filter((line) => /[\u0000-\u001f]/.test(line))).toEqual([])
  expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined()
})

test('nothing that a start has found is in an answer or an event', async () => {
  const fitting = { notes: [{ title: 'a' }, { title: 'b' }], vaults: [{ code: 1 }] }
  const answers = async (stored: typeof documents | typeof fitting): Promise<string[]> => {
    const { send, events } = await start(stored)
    const all: string[] = []
    for (const line of ['GET /', 'GET /notes', 'GET /notes/count', 'GET /vaults', 'GET /_health/ready']) {
      const { status, headers, text } = await send(line)
      all.push(JSON.stringify([status, [...headers], text.replace(/"requestId":"[^"]*"/, '')]))
    }
    return [
      ...all,
      JSON.stringify(events.map(({ operation, caller, status }) => [operation, caller, status])),
    ]
  }
  expect(await answers(documents)).toEqual(await answers(fitting))
})
