import { EventEmitter, once } from 'node:events'
import { getRequestListener } from '@hono/node-server'
import { describe, expect, test } from 'vitest'
import { answerAtDeadline } from '../support/deadlines.js'
import { createTestService, type TestService } from '../support/service.js'
import { call, config, JSON_BODY, open, post, readAll, sendPackets, useListen } from './support/node.js'

// CONTRACT.md §6, "Deadlines", and §1, "Limits": @hono/node-server reads the body of a request by its own means, unless somebody has asked for its stream.

const listen = useListen()

/** What a host does with a request before the service is asked. */
type Touch = (request: Request) => unknown

async function serve(touch: Touch = () => {}): Promise<{ service: TestService; port: number }> {
  const service = createTestService(config)
  const listener = getRequestListener(
    (request) => {
      touch(request)
      return service.handler(request)
    },
    { overrideGlobalObjects: false },
  )
  return { service, port: await listen(listener) }
}

const count = async (port: number): Promise<number> => (await call(port, 'GET /articles/count')).body.total

describe.each<[string, Touch]>([
  ['that nobody has looked at', () => {}],
  ['whose stream somebody has looked at', (request) => request.body],
])('a body %s', (_, touch) => {
  test('is read, whole or in pieces', async () => {
    const { service, port } = await serve(touch)
    expect((await post(port, { title: 'é' })).body).toMatchObject({ title: 'é' })
    const body = JSON.stringify({ title: 'Hello' })
    const head = `POST /articles HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const socket = await open(port, '')
    const received = await sendPackets(socket, [head, body.slice(0, 5), body.slice(5)])
    while (!received().includes('201 Created')) await once(socket, 'data')
    socket.destroy()
    const chunked = { ...JSON_BODY, 'transfer-encoding': 'chunked' }
    expect((await post(port, { title: 'in chunks' }, chunked)).status).toBe(201)
    expect(await count(port)).toBe(3)
    expect(service.logged).toEqual([])
  })

  test.each([
    ['empty', '', 400, 'invalid_json'],
    ['no JSON', '{"title"', 400, 'invalid_json'],
    ['a byte too long', JSON.stringify({ title: 'x'.repeat(989) }), 413, 'body_too_large'],
  ])('is refused where it is %s', async (_, body, status, code) => {
    const { port } = await serve(touch)
    const sent = await post(port, body, { ...JSON_BODY, 'content-length': String(body.length) })
    expect([sent.status, sent.body.code]).toEqual([status, code])
  })

  test('that stalls is given up with 408', async () => {
    const arrival = new EventEmitter()
    const { service, port } = await serve((request) => {
      touch(request)
      if (request.method === 'POST') arrival.emit('request')
    })
    const { status, text } = await answerAtDeadline(once(arrival, 'request'), async () =>
      readAll(await open(port, 'POST /articles HTTP/1.1', 'Host: h', 'Content-Length: 100', '', '{"title":')),
    )
    expect(status).toBe(408)
    expect(text).toContain('"code":"request_timeout"')
    expect(await count(port)).toBe(0)
    expect(service.logged).toEqual([])
  })

  test('whose sender leaves is forgotten', async () => {
    const arrival = new EventEmitter()
    const { service, port } = await serve((request) => {
      touch(request)
      if (request.method === 'POST') arrival.emit('request')
    })
    const arrived = once(arrival, 'request')
    const socket = await open(
      port,
      ...['POST /articles HTTP/1.1', 'Host: h', 'Content-Length: 100', '', '{"title":"half'],
    )
    await arrived
    socket.destroy()
    expect((await call(port, 'GET /articles/count')).body).toEqual({ total: 0 })
    await service.handler.close()
    expect(service.logged).toEqual([])
  })
})

test('a body with its length is not made a stream', async () => {
  const { port } = await serve((request) => {
    Object.defineProperty(request, 'body', {
      get() {
        throw new Error('a stream was made')
      },
    })
  })
  expect((await post(port, { title: 'Hello' })).status).toBe(201)
})

test.each<[string, Touch]>([
  ['has begun to read', (request) => request.body?.getReader()],
  ['has read', (request) => void request.text()],
])('a body that a host %s is a fault of the host', async (_, touch) => {
  const { service, port } = await serve((request) => {
    if (request.method === 'POST') touch(request)
  })
  expect((await post(port, { title: 'Hello' })).status).toBe(500)
  expect(service.logged.length).toBe(1)
})
