import { Agent } from 'node:http'
import { expect, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { call, useListen } from '../mounts/support/node.js'
import {
  COOKIE_CONFIG,
  COOKIE_OPTIONS,
  checkCookies,
  checkIssued,
  fetchEdge,
} from '../support/cookie-laws.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §4, "Sessions in cookies"

const listen = useListen()
const ALL = 7 * 7 * 7 * 6 * 4

test('every combination of site, origin, method, cookie and token answers as the contract says', async () => {
  const service = createTestService(COOKIE_CONFIG, COOKIE_OPTIONS)
  expect(await checkCookies(service, fetchEdge(service))).toBe(ALL)
}, 300_000)

test('the same under the Node mount, where the service knows no origin of its own', async () => {
  const service = createTestService(COOKIE_CONFIG, COOKIE_OPTIONS)
  const port = await listen(toNodeHandler(service.handler))
  const agent = new Agent({ keepAlive: true })
  const edge = {
    own: `http://127.0.0.1:${port}`,
    knowsOwn: false,
    async ask(line: string, headers: { readonly [name: string]: string }, body?: string) {
      const answer = await call(port, line, { headers, agent, ...(body === undefined ? {} : { body }) })
      return {
        status: answer.status,
        text: answer.text,
        header: (name: string) => [answer.headers[name] ?? null].flat().join('\n') || null,
      }
    },
  }
  expect(await checkCookies(service, edge)).toBe(ALL)
  agent.destroy()
}, 300_000)

test('every combination of site, origin and preference gets a cookie or a token, as the contract says', async () => {
  expect(await checkIssued(createTestService(COOKIE_CONFIG, COOKIE_OPTIONS))).toBe(7 * 6 * 5)
})
