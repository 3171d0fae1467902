import { expect } from 'vitest'
import type { createCollectionService, ServiceOptions } from '../../src/index.js'
import { PAGE } from './page.js'
import { createTestService, type SendOptions } from './service.js'

/** The answer to a request, as it comes to the client. */
export interface Asked {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly body: any
  header(name: string): string | null
}

/** Sends a request as a client does, such as `GET /desk/notes`. */
export type Ask = (line: string, options?: SendOptions) => Promise<Asked>

export const CONFIG = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { owner: { read: true } },
    },
    notes: {
      schema: { text: { type: 'string' } },
      permissions: { '*': { read: true, create: true } },
    },
    // Its name is that of the path below which clients find the service.
    desk: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true, create: true } } },
  },
} as const

const ANN = { email: 'ann@example.com', password: 'correct horse' }

/** The path of the next page that a header names. */
const nextOf = (answer: Asked): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1]

/**
 * All paths in answers begin with the path at which clients find the service, and lead where they should, through
 * everything that is in between. Throws on a counterexample.
 */
export async function checkLinks(ask: Ask, path: string): Promise<void> {
  const follow = async (link: string | null | undefined, options?: SendOptions): Promise<Asked> => {
    expect(link).toMatch(new RegExp(`^${path}/[^/]`))
    const answer = await ask(`GET ${link}`, options)
    expect([link, answer.status]).toEqual([link, 200])
    return answer
  }
  for (const collection of ['notes', 'desk']) {
    const created = await ask(`POST ${path}/${collection}`, { body: { text: 'first' } })
    expect(created.status).toBe(201)
    expect((await follow(created.header('location'))).body).toEqual(created.body)
    const id = `01900000-0000-7000-8000-00000000000${collection.length}`
    const put = await ask(`PUT ${path}/${collection}/${id}`, {
      body: { text: 'second' },
      headers: { 'if-none-match': '*' },
    })
    expect((await follow(put.header('location'))).body).toMatchObject({ _id: id, text: 'second' })
    const page = await ask(`GET ${path}/${collection}?sort[text]=1&limit=1`)
    expect(page.body).toMatchObject([{ text: 'first' }])
    expect((await follow(nextOf(page))).body).toMatchObject([{ text: 'second' }])
  }
  const operations = [{ method: 'POST', path: '/notes', body: { text: 'third' } }]
  const batch = await ask(`POST ${path}/_batch`, { body: { operations } })
  expect((await follow(batch.body.results[0].location)).body).toMatchObject({ text: 'third' })
  const { body: account } = await ask(`POST ${path}/auth/register`, { body: ANN })
  await ask(`POST ${path}/auth/login`, { body: ANN })
  const { token } = account
  const sessions = await ask(`GET ${path}/auth/sessions?limit=1`, { token })
  expect((await follow(nextOf(sessions), { token })).body).toHaveLength(1)
  const root = await ask(`GET ${path}/`, { token })
  const links: readonly { readonly name: string; readonly href: string }[] = root.body.collections
  expect(links.map(({ name }) => name)).toEqual(['users', 'notes', 'desk'])
  for (const { href } of links) await follow(`${href}?limit=1`, { token })
  await follow(
    (root.body.auth as readonly string[]).find((one) => one.endsWith('/me')),
    { token },
  )
  const description = await ask(`GET ${path}/_openapi.json`, { token })
  expect(description.body.servers).toEqual([{ url: path }])
  for (const one of [`${path}/_page`, `${path}/_page/`])
    expect((await ask(`GET ${one}`)).text).toBe(PAGE.html)
}

/** A proxy that removes or replaces a path, and the options of the service. */
const PROXIES: readonly (readonly [options: ServiceOptions, from: string, to: string])[] = [
  [{ basePath: '/desk' }, '/desk', '/desk'],
  [{ publicPath: '/desk' }, '/desk', ''],
  [{ publicPath: '/desk/' }, '/desk', ''],
  [{ basePath: '/api/v1', publicPath: '/desk' }, '/desk', '/api/v1'],
  [{ basePath: '/api', publicPath: '/a/desk/api' }, '/a/desk', ''],
]

/** The same through the handler, with proxies of all kinds. Throws on a counterexample. */
export async function checkPublicPaths(create?: typeof createCollectionService): Promise<void> {
  for (const [options, from, to] of PROXIES) {
    const { send } = createTestService(CONFIG, { page: PAGE, ...options, ...(create ? { create } : {}) })
    const ask: Ask = async (line, sending) => {
      const [method = '', path = ''] = line.split(' ')
      expect(path.startsWith(from)).toBe(true)
      const { headers, ...answer } = await send(`${method} ${to}${path.slice(from.length)}`, sending)
      return { ...answer, header: (name) => headers.get(name) }
    }
    await checkLinks(ask, options.publicPath?.replace(/\/$/, '') ?? options.basePath ?? '')
    // The path of the clients is none of the requests, unless a collection has its name.
    for (const path of ['/desk/notes', '/desk/desk', '/desk/auth/me'])
      if (options.basePath !== '/desk') expect((await send(`GET ${path}`)).status).toBe(404)
  }
}
