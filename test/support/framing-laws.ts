import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import type { createCollectionService, StorageAdapter } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { openStored } from './stored.js'

/** Lists whose documents have a part that their reader may not see, on both sides of every limit of a held answer. */

const text = { type: 'string' } as const

const config = {
  collections: {
    notes: {
      schema: { title: { ...text, index: true }, n: { type: 'integer' }, secret: text },
      permissions: { '*': { read: { omit: ['secret'] } } },
    },
  },
} as const

/** How many documents there are, and the characters of what is hidden in each where it is large. */
const SIZES = {
  few: [40, 40_000],
  many: [1200, 2000],
  most: [1500, 2000],
  beyond: [1600, 2000],
} as const

/** By size, a query. */
export const framedLists: readonly (readonly [size: keyof typeof SIZES, query: string])[] = [
  ['few', ''],
  ['few', '?limit=40'],
  ['many', ''],
  ['many', '?limit=1000'],
  ['many', '?limit=1100&project=["title"]'],
  ['many', '?sort[title]=1'],
  ['many', '?sort[n]=1'],
  ['most', ''],
  ['most', '?limit=1500'],
  ['beyond', ''],
]

interface Framing {
  readonly create?: typeof createCollectionService
  readonly createAdapter: () => StorageAdapter
}

/** Checks that how a list is sent does not tell how large its documents are unseen. */
export async function checkFraming(
  framing: Framing,
  [size, query]: (typeof framedLists)[number],
): Promise<void> {
  const [count, hidden] = SIZES[size]
  const small = await askAll(framing, { count, secret: 's' }, query)
  expect(await askAll(framing, { count, secret: 's'.repeat(hidden) }, query)).toEqual(small)
}

/** What answers a GET and a HEAD, with the headers that frame it. */
async function askAll(
  { createAdapter, ...options }: Framing,
  { count, secret }: { readonly count: number; readonly secret: string },
  query: string,
): Promise<readonly unknown[]> {
  const notes = Array.from({ length: count }, (_, i) => ({ title: `t${i}`, n: i, secret }))
  const { handler } = await openStored(config, { notes }, { ...options, adapter: createAdapter() })
  const server = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1')
  try {
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/notes${query}`
    const pieces = await piecesOf(await handler(new Request(url)))
    return [await ask(url, 'GET'), await ask(url, 'HEAD'), pieces]
  } finally {
    server.close()
    await handler.close()
  }
}

/** The bytes of each piece of a body. */
async function piecesOf({ body }: Response): Promise<readonly number[]> {
  const lengths: number[] = []
  for await (const piece of body ?? []) lengths.push(piece.length)
  return lengths
}

async function ask(url: string, method: string): Promise<unknown> {
  const { status, headers, ...answer } = await fetch(url, { method, headers: { connection: 'close' } }).then(
    async (one) => ({ status: one.status, headers: one.headers, body: await one.text() }),
  )
  const framing = ['content-length', 'transfer-encoding', 'content-type', 'link'].map((name) =>
    headers.get(name),
  )
  return { status, framing, ...answer }
}
