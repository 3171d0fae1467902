import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { useCaches } from '../support/caches.js'
import { leaveUnjudged } from '../support/judged.js'

/** What one request goes through: the files of `src` of which it calls a function (`src/README.md`, "The path of a request"). */

useCaches()

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))

const inspector = new Session()
beforeAll(async () => {
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})
afterAll(() => inspector.disconnect())

/** The files of which a function was called since this was asked last. */
async function takeFiles(): Promise<readonly string[]> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const called = result.filter(({ url, functions }) => {
    // The function of a whole module runs when it is loaded.
    const inside = functions.filter(({ functionName }) => functionName !== '')
    return url.includes(SRC) && inside.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
  })
  return [...new Set(called.map(({ url }) => url.slice(url.indexOf(SRC) + SRC.length)))].sort()
}

const config = {
  collections: {
    notes: {
      schema: { title: { type: 'string', required: true, minLength: 1 }, n: { type: 'integer' } },
      permissions: { '*': true },
    },
  },
}

describe('the first request of its kind goes through few files', () => {
  test.each([
    ['a list', 46, (_id: string) => new Request('http://a/notes?q[n][$gte]=1&sort[title]=asc&limit=10')],
    [
      'a PATCH',
      61,
      (id: string) =>
        new Request(`http://a/notes/${id}`, {
          method: 'PATCH',
          body: '{"n":2}',
          headers: { 'content-type': 'application/json' },
        }),
    ],
  ])('%s: at most %i', async (what, most, requestOf) => {
    const handler = createCollectionService(config, createMemoryAdapter(), leaveUnjudged({}))
    await handler.ready()
    const body = JSON.stringify({ title: 'a', n: 1 })
    const headers = { 'content-type': 'application/json' }
    const created = await handler(new Request('http://a/notes', { method: 'POST', body, headers }))
    const { _id } = await created.json()
    await takeFiles()
    const answer = await handler(requestOf(_id))
    await answer.text()
    const files = await takeFiles()
    expect(answer.status).toBe(200)
    process.stdout.write(`${what} goes through ${files.length} files: ${files.join(' ')}\n`)
    expect(files.length).toBeLessThanOrEqual(most)
    await handler.close()
  })
})
