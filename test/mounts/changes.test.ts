import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { expect, test, vi } from 'vitest'
import { createCollectionService, type Handler } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { settle } from '../contract/support/streams.js'
import { readStream } from '../support/event-streams.js'

// CONTRACT.md §9, "Events", "Bounds of streams"; §7, "The Node mount"

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { text: { type: 'string' } },
      permissions: { '*': { read: true, create: true } },
    },
  },
  // A tenth of them is one.
  limits: { subscribers: 10 },
} as const

const MOUNTS: readonly (readonly [
  name: string,
  listen: (handler: Handler) => ReturnType<typeof createServer>,
])[] = [
  ['node:http', (handler) => createServer(toNodeHandler(handler))],
  ['Express', (handler) => createServer(express().use(toNodeHandler(handler)))],
  [
    'a server of web-standard requests',
    (handler) => createServer(getRequestListener((request) => handler(request))),
  ],
]

/** Reads so many blocks of a stream. */
async function readBlocks(message: IncomingMessage, count: number): Promise<readonly string[]> {
  let text = ''
  for await (const part of message.iterator({ destroyOnReturn: false })) {
    text += String(part)
    if (text.split('\n\n').length > count) break
  }
  return text.split('\n\n').slice(0, count)
}

test.each(MOUNTS)('%s sends events as they come, and notices a client that goes', async (name, listen) => {
  const handler = createCollectionService(config)
  const server = listen(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const open = async (): Promise<IncomingMessage> => {
    const [message] = (await once(get(`${origin}/notes/changes`), 'response')) as [IncomingMessage]
    return message
  }
  const stream = await open()
  expect([stream.statusCode, stream.headers['content-type']]).toEqual([200, 'text/event-stream'])
  expect(stream.headers['content-length']).toBeUndefined()
  const [reset = ''] = await readBlocks(stream, 1)
  expect(reset).toMatch(/^id: [\w-]+\nevent: reset\ndata: \{\}$/)
  const body = JSON.stringify({ text: 'a' })
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${origin}/notes`, { method: 'POST', body, headers })).status).toBe(201)
  const [enter = ''] = await readBlocks(stream, 1)
  expect(enter).toMatch(/\nevent: enter\ndata: \{"_id":/)
  // The address is known where a socket is: it has one place.
  if (name !== 'a server of web-standard requests') {
    // A proxy would send its next request on this connection, even if the service has ended the stream to close.
    expect(stream.headers.connection).toBe('close')
    const second = await open()
    expect(second.statusCode).toBe(503)
    second.resume()
    stream.destroy()
    let again = await open()
    while (again.statusCode === 503) {
      again.resume()
      again = await open()
    }
    expect(again.statusCode).toBe(200)
    const ended = once(again, 'end')
    again.resume()
    await handler.close()
    await ended
  }
  await handler.close()
  server.closeAllConnections()
  server.close()
})

/** More notes than any system takes for a client that does not read. */
const MANY = 200

test('a client that reads nothing for long keeps its stream, until that is over', async () => {
  const handler = createCollectionService(config)
  const server = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connecting = once(server, 'connection') as Promise<[Socket]>
  const { port } = server.address() as AddressInfo
  const opening = once(get(`http://127.0.0.1:${port}/notes/changes`), 'response')
  const [[socket], [message]] = [await connecting, (await opening) as [IncomingMessage]]
  await readBlocks(message, 1)
  message.pause()
  const witness = readStream(await handler(new Request('http://a.test/notes/changes')))
  let created = 0
  /** Creates a note, and waits until all who listen were told of the one before. */
  const create = async (): Promise<void> => {
    created += 1
    expect(created).toBeLessThan(MANY)
    const body = JSON.stringify({ text: 'a'.repeat(300_000) })
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://a.test/notes', { method: 'POST', body, headers })
    expect((await handler(request)).status).toBe(201)
    await witness.until(1 + created)
    await settle()
  }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    let count = 0
    for (; socket.writableLength === 0; count++) await create()
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(31_000)
      await settle()
    }
    expect(socket.destroyed).toBe(false)
    const blocks = await readBlocks(message, count)
    expect(blocks.filter((block) => block.includes('\nevent: enter\n'))).toHaveLength(count)

    // Beyond 1 MiB that waits the stream is cut, and nothing more is to come.
    message.pause()
    while (socket.writableLength === 0) await create()
    for (let i = 0; i < 7; i++) await create()
    message.on('error', () => {})
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(31_000)
      await settle()
    }
    expect(socket.destroyed).toBe(true)
  } finally {
    vi.useRealTimers()
    await handler.close()
    server.closeAllConnections()
    server.close()
  }
})
