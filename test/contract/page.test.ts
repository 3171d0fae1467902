import { expect, test } from 'vitest'
import { createCollectionService } from '../../src/index.js'
import { createPage } from '../../src/tools/page/index.js'

const CONFIG = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
} as const

const page = createPage()

test('with options.page, GET /_page is one document under a strict policy (CONTRACT.md §11)', async () => {
  const service = createCollectionService(CONFIG, undefined, { page, basePath: '/api' })
  const answer = await service(new Request('http://localhost/api/_page'))
  const policy = answer.headers.get('content-security-policy') ?? ''
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  for (const directive of [
    "default-src 'none'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
    expect(policy.split('; ')).toContain(directive)
  expect(policy).not.toContain('unsafe')
  const html = await answer.text()
  const hashOf = async (text = ''): Promise<string> => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
  }
  const [, script] = /<script>([\s\S]*)<\/script>/.exec(html) ?? []
  const [, style] = /<style>([\s\S]*)<\/style>/.exec(html) ?? []
  expect(policy).toContain(`script-src ${await hashOf(script)}`)
  expect(policy).toContain(`style-src ${await hashOf(style)}`)
  expect(html.match(/<script/g)).toHaveLength(1)
  expect(html).not.toMatch(/<[^>]+\s(?:src|href)="(?!data:)/)
})

test('the page is known by its tag, takes no parameter, and answers the same to everyone', async () => {
  const service = createCollectionService(CONFIG, undefined, { page })
  const ask = (path: string, headers = {}) => service(new Request(`http://localhost${path}`, { headers }))
  const first = await ask('/_page/')
  expect((await ask('/_page', { 'if-none-match': first.headers.get('etag') })).status).toBe(304)
  expect((await ask('/_page?x=1')).status).toBe(400)
  const other = await service.as({ id: '1' })(new Request('http://localhost/_page'))
  expect(await other.text()).toBe(await first.text())
  expect((await service(new Request('http://localhost/_page', { method: 'HEAD' }))).status).toBe(200)
  expect((await service(new Request('http://localhost/_page', { method: 'POST' }))).status).toBe(405)
})

test('with the page the service describes itself; without it there is no page', async () => {
  const ask = async (options: object, path: string) =>
    (await createCollectionService(CONFIG, undefined, options)(new Request(`http://localhost${path}`))).status
  expect(await ask({ page }, '/_openapi.json')).toBe(200)
  expect(await ask({}, '/_openapi.json')).toBe(404)
  expect(await ask({}, '/_page')).toBe(404)
  expect(() => createCollectionService(CONFIG, undefined, { page: {} as never })).toThrow('options.page')
})
