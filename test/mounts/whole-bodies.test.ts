import { once } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { open, seeded, sendPackets, useListen } from './support/node.js'

const listen = useListen()

const BODY = JSON.stringify({ title: 'Hello' })
const HEAD = [
  'POST /articles HTTP/1.1',
  'Host: h',
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
  '',
  '',
].join('\r\n')

afterEach(() => vi.restoreAllMocks())

test.each<[string, readonly string[], { answers: number; timers: number }]>([
  ['in one packet with its head', [HEAD + BODY], { answers: 1, timers: 0 }],
  ['behind its head', [HEAD, BODY], { answers: 1, timers: 1 }],
  ['in two pieces', [HEAD + BODY.slice(0, 5), BODY.slice(5)], { answers: 1, timers: 1 }],
  ['twice in one packet', [HEAD + BODY + HEAD + BODY], { answers: 2, timers: 0 }],
  ['with the head of the next', [HEAD + BODY + HEAD, BODY], { answers: 2, timers: 1 }],
  ['one after another', [HEAD + BODY, HEAD + BODY], { answers: 2, timers: 0 }],
])('a body that comes %s is read, and timed only where it is waited for', async (_, packets, expected) => {
  const { handler, send } = seeded()
  await handler.ready()
  const socket = await open(await listen(toNodeHandler(handler)))
  const timed = vi.spyOn(globalThis, 'setTimeout')
  const received = await sendPackets(socket, packets)
  while (received().split('HTTP/1.1 201 Created').length <= expected.answers) await once(socket, 'data')
  const text = received()
  const timers = timed.mock.calls.filter(([, ms = 0]) => ms >= 1000).length
  expect({ answers: text.split(BODY.slice(1, -1)).length - 1, timers }).toEqual(expected)
  // The connection stays as it was.
  expect(text).toContain('Connection: keep-alive')
  expect(text).not.toContain('Connection: close')
  expect((await send('GET /articles/count')).body.total).toBe(1 + expected.answers)
  socket.destroy()
})
