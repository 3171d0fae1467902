import { expect } from 'vitest'
import type { Sent, TestService } from '../../support/service.js'

/** What the tests of sessions in cookies have in common. */

export const NAME = '__Host-session'

/** The header of a page of the same origin, as browsers send it. */
export const SAME = { 'sec-fetch-site': 'same-origin' } as const

/** What clears the cookie, byte for byte. */
export const CLEARED = `${NAME}=; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=0`

/** A token that no service has issued. */
export const DEAD = 'A'.repeat(43)

/** The headers of a request of the same origin with a cookie. */
export const withCookie = (token: string, name = NAME) => ({ cookie: `${name}=${token}`, ...SAME })

/** The cookie that an answer sets, as its text; `undefined` where it sets none. Fails if it sets several. */
export function cookieOf({ headers }: Pick<Sent, 'headers'>): string | undefined {
  const all = headers.getSetCookie()
  expect(all.length).toBeLessThan(2)
  return all[0]
}

/** The token in the cookie that an answer sets. */
export const tokenOf = (answer: Pick<Sent, 'headers'>): string =>
  /^[^=]+=([^;]*);/.exec(cookieOf(answer) ?? '')?.[1] ?? ''

/** Registers an account in a cookie, and returns its token and its id. */
export async function join(
  { send }: Pick<TestService, 'send'>,
  body: object,
): Promise<{ readonly token: string; readonly id: string }> {
  const answer = await send('POST /auth/register', { body, headers: SAME })
  expect(answer.status).toBe(201)
  return { token: tokenOf(answer), id: answer.body.user._id }
}
