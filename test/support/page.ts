import { expect } from 'vitest'
import type { createCollectionService, Page } from '../../src/index.js'
import { createTestService, type SendOptions } from './service.js'

/** A page in place of the built one, which takes seconds to make. */
export const PAGE: Page = {
  html: '<!doctype html><title>A page</title>\n',
  policy: "default-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  etag: '"a-page"',
}

/** All that is told with the page, beside what goes for every answer. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PAGE.policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  etag: PAGE.etag,
}

/** Who may ask, and with what: a page is asked for by people, by caches and by who would like it to say more. */
export const ASKERS: readonly SendOptions[] = [
  {},
  { caller: null },
  { caller: { id: 'ann' } },
  { caller: { id: 'zoe', roles: ['admin'] } },
  ...[
    { accept: 'application/json' },
    { accept: 'image/*;q=0' },
    { 'accept-language': 'de', 'accept-encoding': 'identity;q=0' },
    { range: 'bytes=0-3' },
    { cookie: '<script>alert(1)</script>' },
    { origin: 'https://evil.example', referer: 'https://evil.example/<script>' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-prefix': '/"><script>' },
    { 'x-original-url': '/_openapi.json', 'x-rewrite-url': '/users' },
    { 'if-none-match': '"another"', 'if-match': '"another"' },
    { 'if-modified-since': new Date(0).toUTCString() },
  ].map((headers) => ({ headers })),
]

const CONFIG = (name: string) => ({
  collections: {
    [name]: { schema: { text: { type: 'string' } }, permissions: { user: true, admin: true } },
  },
})

/**
 * The page is the same bytes under the same policy for everyone and in every service, is there only where a host gave
 * it, and takes nothing from a request (CONTRACT.md §11). Throws on a counterexample.
 */
export async function checkPage(create?: typeof createCollectionService): Promise<void> {
  const serve = (name: string, options: object) =>
    createTestService(CONFIG(name), {
      authenticate: () => null,
      documents: { [name]: [{ text: name }] },
      ...options,
      ...(create ? { create } : {}),
    })
  for (const [service, path] of [
    [serve('notes', { page: PAGE }), '/_page'],
    [serve('others', { page: PAGE, basePath: '/api' }), '/api/_page'],
  ] as const) {
    for (const sending of ASKERS) {
      const { status, text, headers } = await service.send(`GET ${path}`, sending)
      expect([status, text]).toEqual([200, PAGE.html])
      // No cache keeps what somebody is answered who is known (CONTRACT.md §6).
      const kept = { 'cache-control': sending.caller ? 'no-store' : 'no-cache' }
      expect(Object.fromEntries(headers)).toMatchObject({ ...HEADERS, ...kept })
      const head = await service.send(`HEAD ${path}`, sending)
      expect([head.status, head.text]).toEqual([200, ''])
      const length = String(Buffer.byteLength(text))
      expect(Object.fromEntries(head.headers)).toEqual({
        ...Object.fromEntries(headers),
        'content-length': length,
      })
      const known = { ...sending, headers: { 'if-none-match': PAGE.etag } }
      const { status: unchanged, text: nothing } = await service.send(`GET ${path}`, known)
      expect([unchanged, nothing]).toEqual([304, ''])
      expect((await service.send(`HEAD ${path}?x=1`, sending)).status).toBe(400)
      const refused = await service.send(`GET ${path}?text=<b>`, sending)
      expect([refused.status, refused.body?.code]).toEqual([400, 'invalid_query'])
    }
  }
  const without = serve('notes', {})
  for (const sending of ASKERS) expect((await without.send('GET /_page', sending)).status).toBe(404)
}
