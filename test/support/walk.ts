import { expect } from 'vitest'
import type { Sent } from './service.js'

const LINK = /^<(\/[^<>\s"]*)>; rel="next"$/

/** Where the next page is, by an answer's `Link`; `undefined` where it has none. */
export function nextOf({ headers }: Pick<Sent, 'headers'>): string | undefined {
  const link = headers.get('link')
  if (link === null) return undefined
  expect(link).toMatch(LINK)
  return LINK.exec(link)?.[1]
}
