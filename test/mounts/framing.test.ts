import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { openStored } from '../support/stored.js'

// CONTRACT.md §5, "No leak"; §6, "Fairness"

const text = { type: 'string' } as const

const config = {
  collections: {
    notes: {
      schema: { title: { ...text, index: true }, n: { type: 'integer' }, secret: text },
      permissions: { '*': { read: { omit: ['secret'] } } },
    },
  },
} as const

const opened = closeAfterEach()

const COUNTS = { few: 40, many: 1200, most: 1500, beyond: 1600 } as const

describe.each(useStorages())('in %s', (_, createAdapter) => {
  const serve = async (count: number, secret: string): Promise<string> => {
    const notes = Array.from({ length: count }, (_, i) => ({ title: `t${i}`, n: i, secret }))
    const service = await openStored(config, { notes }, { adapter: createAdapter() })
    opened.push(service)
    const server = createServer(toNodeHandler(service.handler)).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    return typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : ''
  }
  const ask = async (url: string, method: string): Promise<unknown> => {
    const { status, headers, ...answer } = await fetch(url, {
      method,
      headers: { connection: 'close' },
    }).then(async (one) => ({ status: one.status, headers: one.headers, body: await one.text() }))
    const shown = ['content-length', 'transfer-encoding', 'content-type', 'link'].map((name) =>
      headers.get(name),
    )
    return { status, shown, ...answer }
  }

  test.each([
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
  ] as const)(
    'how %s documents are sent does not tell how large they are unseen: %s',
    async (size, query) => {
      const [small, large] = [
        await serve(COUNTS[size], 's'),
        await serve(COUNTS[size], 's'.repeat(size === 'few' ? 40_000 : 2000)),
      ]
      for (const method of ['GET', 'HEAD'])
        expect(await ask(`${large}/notes${query}`, method)).toEqual(
          await ask(`${small}/notes${query}`, method),
        )
    },
  )
})
