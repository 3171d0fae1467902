import { describe, expect, test } from 'vitest'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §1, "Attributes", §7, "Storage"

const configOf = (slug: object, title: object) => ({
  collections: {
    notes: {
      schema: { slug: { type: 'string', ...slug }, title: { type: 'string', ...title } },
      permissions: { '*': true },
    },
  },
})

/** A text that no engine makes smaller. */
const noise = (length: number, seed: number): string =>
  Array.from({ length }, (_, i) => String.fromCharCode(48 + ((i * i * seed + i * 7919) % 900))).join('')

describe.each(useStorages())('a text that is no longer indexed, in %s,', (_, create) => {
  const opened = closeAfterEach()

  test.each([3000, 20_000])('may have %i characters, and is unique as before', async (length) => {
    const adapter = create()
    const before = createTestService(configOf({ unique: true }, { index: true }), { adapter })
    opened.push(before)
    const first = await before.send('POST /notes', { body: { slug: 'a', title: 'a' } })
    expect(first.status).toBe(201)
    expect((await before.send('POST /notes', { body: { title: noise(length, 1) } })).status).toBe(400)

    const { send, list } = createTestService(configOf({}, {}), { adapter })
    const textOf = (seed: number) => ({ slug: noise(length, seed), title: noise(length, seed + 1) })
    const path = `/notes/${first.body._id}`
    const writes: readonly (readonly [line: string, body: object, status: number])[] = [
      ['POST /notes', textOf(11), 201],
      ['POST /notes/bulk', { documents: [textOf(13), textOf(15)] }, 201],
      [`PATCH ${path}`, { title: noise(length, 17) }, 200],
      [`PUT ${path}`, textOf(19), 200],
      ['POST /_batch', { operations: [{ method: 'POST', path: '/notes', body: textOf(21) }] }, 200],
      ['POST /notes', { slug: noise(length, 13) }, 409],
      ['POST /notes', { slug: 'a' }, 201],
      ['POST /notes', { slug: 'a' }, 409],
    ]
    for (const [line, body, status] of writes) expect((await send(line, { body })).status, line).toBe(status)
    const titles = [11, 13, 15, 19, 21].map((seed) => noise(length, seed + 1)).sort()
    expect(await list('/notes?sort[title]=1&q[title][$exists]=true', 'title')).toEqual(titles)
  })
})
