import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

type Headers = { readonly [name: string]: string }

/** Response headers of the service that are lists of names. A repeated name has no effect (RFC 9110 §12.5.5, Fetch). */
const NAMES: ReadonlySet<string> = new Set([
  'vary',
  'access-control-expose-headers',
  'access-control-allow-headers',
  'access-control-allow-methods',
])

/** Response headers of the service that are lists of longer entries (RFC 8288 §3, RFC 9110 §11.6.1). */
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
 * Returns the headers to send. A list of the service is appended to the list that the host has already set, and so is a
 * cookie; `Cache-Control` is joined with that of the host, and any other header replaces that of the host.
 */
export function addToLists(response: ServerResponse, headers: Headers): OutgoingHttpHeaders {
  const added = Object.entries(headers).map(([name, ours]): [string, string | string[]] => {
    const theirs = [response.getHeader(name) ?? []].flat().map(String)
    if (name === 'set-cookie') return [name, [...theirs, ours]]
    if (NAMES.has(name)) return [name, joinNames([...theirs, ours])]
    if (ENTRIES.has(name)) return [name, [...theirs, ours].join(', ')]
    return [name, name === 'cache-control' ? joinDirectives(theirs, ours) : ours]
  })
  return Object.fromEntries(added)
}

/** A directive of `Cache-Control`: a name, optionally with a value. A value in quotes may contain commas. */
const DIRECTIVE = /([^\s,;="]+)(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,;"]*))?/g

/**
 * Joins the `Cache-Control` directives of the service with those of the host that do not control storing, such as
 * `no-transform` and extensions. Storing directives of the host are dropped, because not every cache understands a
 * contradiction such as `public` with `no-store`.
 */
function joinDirectives(theirs: readonly string[], ours: string): string {
  const kept = Array.from(theirs.join(', ').matchAll(DIRECTIVE)).filter(
    ([, name = '']) => !STORING.has(name.toLowerCase()),
  )
  return [...new Set([...ours.split(', '), ...kept.map(([directive]) => directive)])].join(', ')
}

/** Joins lists of names. Each name occurs once, in its first spelling. */
function joinNames(lists: readonly string[]): string {
  const known = new Map<string, string>()
  for (const name of lists.flatMap((list) => list.split(',')).map((name) => name.trim()))
    if (name !== '' && !known.has(name.toLowerCase())) known.set(name.toLowerCase(), name)
  return [...known.values()].join(', ')
}
