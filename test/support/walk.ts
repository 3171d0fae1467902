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

/** The parameter with which the next page begins, by `Next-Cursor` or `Next-Skip`; `undefined` on the last page. */
export function placeOf({ headers }: Pick<Sent, 'headers'>): string | undefined {
  const [cursor, skip] = [headers.get('next-cursor'), headers.get('next-skip')]
  if (cursor !== null) return `after=${cursor}`
  return skip === null ? undefined : `skip=${skip}`
}

const isPlace = (part: string): boolean => /^(?:after|skip)=/.test(decodeURIComponent(part))

/** The target of the next page, as a client writes it who does not read `Link`: the same query at another place. */
export function followingOf(target: string, answer: Pick<Sent, 'headers'>): string | undefined {
  const place = placeOf(answer)
  if (place === undefined) return undefined
  const [path, query = ''] = target.split('?')
  const others = query.split('&').filter((part) => part !== '' && !isPlace(part))
  return `${path}?${[...others, place].join('&')}`
}
