import type { ServerResponse } from 'node:http'

type Headers = { readonly [name: string]: string }

/** The service's headers that are lists of names; each name counts once (RFC 9110 §12.5.5, Fetch). */
const NAMES: ReadonlySet<string> = new Set([
  'vary',
  'access-control-expose-headers',
  'access-control-allow-headers',
  'access-control-allow-methods',
])

/** The service's headers that are lists of longer entries (RFC 8288 §3, RFC 9110 §11.6.1). */
const ENTRIES: ReadonlySet<string> = new Set(['link', 'www-authenticate'])

/**
 * The directives of `Cache-Control` that control whether and how long a response is stored (RFC 9111 §5.2.2, 5861,
 * 8246).
 */
const STORING: ReadonlySet<string> = new Set([
  'public',
  'no-store',
  'no-cache',
  'max-age',
  's-maxage',
  'must-revalidate',
  'proxy-revalidate',
  'must-understand',
  'immutable',
  'stale-while-revalidate',
  'stale-if-error',
])

/**
 * Appends the service's list headers to those that the host has set. Other headers replace the host's.
 */
export function addToLists(response: ServerResponse, headers: Headers): Headers {
  const added = Object.entries(headers).map(([name, ours]): [string, string] => {
    const theirs = [response.getHeader(name) ?? []].flat().map(String)
    if (NAMES.has(name)) return [name, joinNames([...theirs, ours])]
    if (ENTRIES.has(name)) return [name, [...theirs, ours].join(', ')]
    return [name, name === 'cache-control' ? joinDirectives(theirs, ours) : ours]
  })
  return Object.fromEntries(added)
}

/** A directive: a name, optionally with a value, in which commas are in quotes. */
const DIRECTIVE = /([^\s,;="]+)(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,;"]*))?/g

/**
 * The service's directives, and those of the host on other matters, such as `no-transform` and extensions: not every
 * cache understands `no-store` beside `public`.
 */
function joinDirectives(theirs: readonly string[], ours: string): string {
  const kept = Array.from(theirs.join(', ').matchAll(DIRECTIVE)).filter(
    ([, name = '']) => !STORING.has(name.toLowerCase()),
  )
  return [...new Set([...ours.split(', '), ...kept.map(([directive]) => directive)])].join(', ')
}

/** Each name once, as first spelled. */
function joinNames(lists: readonly string[]): string {
  const known = new Map<string, string>()
  for (const name of lists.flatMap((list) => list.split(',')).map((name) => name.trim()))
    if (name !== '' && !known.has(name.toLowerCase())) known.set(name.toLowerCase(), name)
  return [...known.values()].join(', ')
}
