import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { ann, configOf } from '../contract/support/accounts.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "The client"; §4, "Sessions in cookies"

/** A `fetch` with the cookies of a browser, for a service in this process. Notes what was sent. */
function createBrowser(cookie: unknown = true) {
  const { handler } = createTestService(
    configOf({ permissions: { owner: { read: true } }, auth: { cookie } }),
  )
  const jar = new Map<string, string>()
  const sent: { readonly credentials: string | undefined; readonly headers: Headers }[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    sent.push({ credentials: init.credentials, headers: new Headers(headers) })
    headers.set('sec-fetch-site', 'same-origin')
    if (jar.size > 0) headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await handler(new Request(url, { ...init, headers }))
    for (const text of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (text.endsWith('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
  return { fetch, jar, sent }
}

describe('a client with a session in a cookie', () => {
  test('signs in, acts and signs out without a token of its own', async () => {
    const { fetch, jar, sent } = createBrowser()
    const client = createClient('http://localhost', { cookie: true, fetch })
    const { user, token } = await client.auth.register(ann)
    expect([token, client.token, jar.size]).toEqual(['', undefined, 1])
    expect((await client.auth.me())._id).toBe(user._id)
    expect((await client.collection('notes').create({ text: 'x' })).createdBy).toBe(user._id)
    const before = [...jar.values()]
    await client.auth.changeSecret({ current: ann.password, new: 'another' })
    expect([...jar.values()]).not.toEqual(before)
    const [session] = await client.auth.sessions()
    expect(session?.isCurrent).toBe(true)
    await client.auth.logout()
    expect([client.token, jar.size]).toEqual([undefined, 0])
    await expect(client.auth.me()).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(new Set(sent.map(({ credentials }) => credentials))).toEqual(new Set(['include']))
    expect(new Set(sent.map(({ headers }) => headers.get('prefer')))).toEqual(new Set(['session=cookie']))
    expect(sent.some(({ headers }) => headers.has('authorization'))).toBe(false)
  })

  test('its preference stands beside that of the host', async () => {
    const { fetch, sent } = createBrowser()
    const headers = { prefer: 'handling=strict' }
    const client = createClient('http://localhost', { cookie: true, fetch, headers })
    await client.auth.register(ann)
    await expect(
      client.collection('notes').create({ text: 'x', _id: 'mine' } as never),
    ).rejects.toMatchObject({
      code: 'validation_failed',
    })
    expect(sent.map(({ headers: one }) => one.get('prefer'))).toEqual(
      Array(2).fill('handling=strict, session=cookie'),
    )
  })

  test('without the option, a page of the same origin gets one too, and a client elsewhere its token', async () => {
    const { fetch, jar } = createBrowser()
    const client = createClient('http://localhost', { fetch })
    await client.auth.register(ann)
    expect([client.token, jar.size]).toEqual([undefined, 1])
    expect((await client.auth.me()).email).toBe(ann.email)
    const plain = createBrowser(false)
    const other = createClient('http://localhost', { cookie: true, fetch: plain.fetch })
    await other.auth.register(ann)
    expect([other.token?.length, plain.jar.size]).toEqual([43, 0])
    expect((await other.auth.me()).email).toBe(ann.email)
  })
})
