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

/** What ran since this was asked last: the files of which a function was called, and the named functions of them. */
async function takeCalled(): Promise<{ readonly files: readonly string[]; readonly functions: number }> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const files = new Set<string>()
  const names = new Set<string>()
  for (const { url, functions } of result) {
    if (!url.includes(SRC)) continue
    const file = url.slice(url.indexOf(SRC) + SRC.length)
    for (const { functionName, ranges } of functions) {
      const [range] = ranges
      // The function without a name is the whole module, which runs when it is loaded, or a callback.
      if (functionName === '' || !range || range.count === 0) continue
      files.add(file)
      names.add(`${file} ${functionName} ${range.startOffset}`)
    }
  }
  return { files: [...files].sort(), functions: names.size }
}

const config = {
  collections: {
    notes: {
      schema: { title: { type: 'string', required: true, minLength: 1 }, n: { type: 'integer' } },
      permissions: { '*': true },
    },
  },
}

const withBody = (method: string, body: string): RequestInit => ({
  method,
  body,
  headers: { 'content-type': 'application/json' },
})

interface Limit {
  readonly files: number
  readonly functions: number
  readonly requestOf: (id: string) => Request
}

const LIMITS: { readonly [what: string]: Limit } = {
  'a list': {
    files: 40,
    functions: 203,
    requestOf: () => new Request('http://a/notes?q[n][$gte]=1&sort[title]=asc&limit=10'),
  },
  'a read': { files: 27, functions: 83, requestOf: (id) => new Request(`http://a/notes/${id}`) },
  'a create': {
    files: 48,
    functions: 175,
    requestOf: () => new Request('http://a/notes', withBody('POST', '{"title":"b","n":2}')),
  },
  'a PATCH': {
    files: 56,
    functions: 230,
    requestOf: (id) => new Request(`http://a/notes/${id}`, withBody('PATCH', '{"n":2}')),
  },
  'a DELETE': {
    files: 34,
    functions: 143,
    requestOf: (id) => new Request(`http://a/notes/${id}`, { method: 'DELETE' }),
  },
}

describe('the first request of its kind goes through few files and functions', () => {
  test.each(Object.entries(LIMITS))('%s', async (what, limit) => {
    const handler = createCollectionService(config, createMemoryAdapter(), leaveUnjudged({}))
    await handler.ready()
    const created = await handler(
      new Request('http://a/notes', withBody('POST', JSON.stringify({ title: 'a', n: 1 }))),
    )
    const { _id } = await created.json()
    await takeCalled()
    const answer = await handler(limit.requestOf(_id))
    await answer.text()
    const { files, functions } = await takeCalled()
    expect(answer.ok).toBe(true)
    process.stdout.write(
      `${what} goes through ${files.length} files and ${functions} functions: ${files.join(' ')}\n`,
    )
    expect(files.length).toBeLessThanOrEqual(limit.files)
    expect(functions).toBeLessThanOrEqual(limit.functions)
    await handler.close()
  })
})
