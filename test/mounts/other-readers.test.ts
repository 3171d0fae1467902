import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { open, seeded, sendPackets, useListen } from './support/node.js'

/** Others may read a request before the service does, or beside it. */

const listen = useListen()

const BODY = Buffer.from(JSON.stringify({ title: 'Hellö' }))
const headOf = (length: number): Buffer =>
  Buffer.from(
    `POST /articles HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  )

type Reader = (request: IncomingMessage, next: () => void) => void

const READERS: readonly (readonly [name: string, read: Reader])[] = [
  [
    'listens to its data',
    (request, next) => {
      request.on('data', () => {})
      next()
    },
  ],
  [
    'listens to its data behind the service',
    (request, next) => {
      next()
      request.on('data', () => {})
    },
  ],
  [
    'lets it flow',
    (request, next) => {
      request.resume()
      next()
    },
  ],
  [
    'pauses it for a while',
    (request, next) => {
      request.pause()
      setTimeout(() => {
        request.resume()
        next()
      }, 20)
    },
  ],
  [
    'pauses it for good',
    (request, next) => {
      request.pause()
      next()
    },
  ],
  [
    'asks for text',
    (request, next) => {
      request.setEncoding('utf8')
      next()
    },
  ],
]

/** Sends packets, and gives back what comes. */
async function exchange(read: Reader, packets: readonly Buffer[]): Promise<string> {
  const { handler } = seeded()
  await handler.ready()
  const serve = toNodeHandler(handler)
  const listener: RequestListener = (request, response) => read(request, () => void serve(request, response))
  const socket = await open(await listen(listener))
  const received = await sendPackets(socket, packets)
  while (!received().includes('\r\n\r\n')) await once(socket, 'data')
  socket.destroy()
  return received()
}

describe.each(READERS)('a request of which somebody %s', (_, read) => {
  test.each([
    ['with its head', [Buffer.concat([headOf(BODY.length), BODY])]],
    ['behind its head', [headOf(BODY.length), BODY]],
    ['in two pieces', [Buffer.concat([headOf(BODY.length), BODY.subarray(0, 5)]), BODY.subarray(5)]],
  ])('is read whole where its body comes %s', async (_, packets) => {
    const text = await exchange(read, packets)
    expect(text).toContain('HTTP/1.1 201')
    expect(text).toContain('Hellö')
    expect(text).toContain('Connection: keep-alive')
  })

  test('is never taken for its second half', async () => {
    const [first, second] = [Buffer.from('{"note":1},'), BODY]
    const head = headOf(first.length + second.length)
    expect(await exchange(read, [Buffer.concat([head, first]), second])).toContain('HTTP/1.1 400')
  })
})
