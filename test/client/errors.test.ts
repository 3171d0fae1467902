import { describe, expect, test } from 'vitest'
import { ClientError, createClient, isClientError } from '../../src/client/client.js'
import { caught, createSpiedClient } from './support/service.js'

const answering = (response: () => Response) => createClient(async () => response()).collection('notes')

describe('what the service refuses', () => {
  test('becomes an error that says what and where', async () => {
    const { client } = createSpiedClient()
    const thrown = await caught(client.collection('notes').create({ title: 'x', views: 1.5 }))
    expect(thrown).toBeInstanceOf(ClientError)
    expect(thrown).toMatchObject({
      name: 'ClientError',
      status: 400,
      code: 'validation_failed',
      errors: [{ path: '/views', code: 'wrong_type', message: expect.any(String) }],
      requestId: expect.stringMatching(/^[\w-]{36}$/),
      retryAfter: undefined,
    })
    const { detail, message } = thrown as ClientError
    expect(detail).toBe(message)
  })

  test.each<[string, number, string]>([
    ['hidden', 401, 'unauthenticated'],
    ['nosuch', 404, 'not_found'],
  ])('in %s is a %i', async (name, status, code) => {
    const { handler } = createSpiedClient()
    expect(await caught(createClient<unknown>(handler).collection(name).list())).toMatchObject({
      status,
      code,
    })
  })

  test('says when another attempt makes sense', async () => {
    const problem = { status: 503, code: 'overloaded', detail: 'Busy.', requestId: 'r' }
    const call = answering(() =>
      Response.json(problem, { status: 503, headers: { 'retry-after': '7' } }),
    ).list()
    expect(await caught(call)).toMatchObject({
      code: 'overloaded',
      retryAfter: 7,
      errors: [],
      requestId: 'r',
    })
  })
})

describe('an answer that is not the service’s', () => {
  test.each<[string, () => Response, number]>([
    ['a page of a proxy', () => new Response('<h1>Bad gateway</h1>', { status: 502 }), 502],
    ['a page in place of data', () => new Response('<h1>Hello</h1>'), 200],
    ['an error without a code', () => Response.json({ error: 'x' }, { status: 500 }), 500],
    ['an error that is null', () => Response.json(null, { status: 500 }), 500],
    ['an empty error', () => new Response(null, { status: 403 }), 403],
    ['an answer that breaks off', () => new Response('[{"_id":'), 200],
    ['JSON of another form', () => Response.json({ code: 'fine' }), 200],
    ['nothing', () => new Response(null, { status: 204 }), 204],
  ])('is an error too: %s', async (_, response, status) => {
    const notes = answering(response)
    const calls = [
      notes.list(),
      notes.page(),
      notes.pages().next(),
      notes.getMany(['x']),
      notes.upsert('x', {}),
      notes.count(),
      notes.get('x'),
      notes.create({}),
      notes.createMany([]),
      notes.update('x', {}),
      notes.replace('x', {}),
      createClient(async () => response()).auth.me(),
      createClient(async () => response()).auth.login({}),
    ]
    for (const call of calls) {
      const thrown = await caught(call)
      expect(thrown).toMatchObject({ name: 'ClientError', status, code: 'unexpected_answer', errors: [] })
    }
  })

  test('where nothing was to be answered, too', async () => {
    const client = createClient(async () => new Response('<h1>Hello</h1>'), { token: 'kept' })
    const calls = [
      client.collection('notes').delete('x'),
      client.auth.logout(),
      client.auth.logoutAll(),
      client.auth.endSession('x'),
    ]
    for (const call of calls) expect(await caught(call)).toMatchObject({ code: 'unexpected_answer' })
    expect(client.token).toBe('kept')
  })
})

describe('what keeps an answer from arriving', () => {
  test('is thrown as it is', async () => {
    const cause = new TypeError('fetch failed')
    const options = { fetch: () => Promise.reject(cause) }
    expect(await caught(createClient('http://a.test', options).collection('notes').list())).toBe(cause)
  })

  test('in the middle of an answer too', async () => {
    const cause = new TypeError('terminated')
    const body = new ReadableStream({ start: (controller) => controller.error(cause) })
    expect(await caught(answering(() => new Response(body)).list())).toBe(cause)
  })
})

describe('an error of a client', () => {
  test('is recognised by its brand', () => {
    const error = new ClientError(new Response(null, { status: 500 }), null)
    expect(isClientError(error)).toBe(true)
    // As one of another copy of the package.
    const copy = Object.defineProperties(new Error('x'), Object.getOwnPropertyDescriptors(error))
    expect(copy).not.toBeInstanceOf(ClientError)
    expect(isClientError(copy)).toBe(true)
  })

  test.each([undefined, null, 'x', new Error('x'), { code: 'forbidden', status: 403 }])(
    'is not %s',
    (other) => {
      expect(isClientError(other)).toBe(false)
    },
  )
})
