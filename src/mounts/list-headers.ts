import type { ServerResponse } from 'node:http'

type Headers = { readonly [name: string]: string }

/** The service's headers that are lists of names, each of which counts once (RFC 9110 §12.5.5, Fetch). */
const NAMES: ReadonlySet<string> = new Set([
  'vary',
  'access-control-expose-headers',
  'access-control-allow-headers',
  'access-control-allow-methods',
])

/** The service's headers that are lists of longer entries (RFC 8288 §3, RFC 9110 §11.6.1). */
const ENTRIES: ReadonlySet<string> = new Set(['link', 'www-authenticate'])

/**
 * Appends the lists among the service's headers to those that the host has set. Other headers replace the
 * host's, also `Cache-Control`: `no-store` beside `public` would not be understood by every cache.
 */
export function addToLists(response: ServerResponse, headers: Headers): Headers {
  const added = Object.entries(headers).map(([name, ours]): [string, string] => {
    if (!NAMES.has(name) && !ENTRIES.has(name)) return [name, ours]
    const theirs = [response.getHeader(name) ?? []].flat().map(String)
    return [name, NAMES.has(name) ? joinNames([...theirs, ours]) : [...theirs, ours].join(', ')]
  })
  return Object.fromEntries(added)
}

/** Each name once, as it was first written. */
function joinNames(lists: readonly string[]): string {
  const known = new Map<string, string>()
  for (const name of lists.flatMap((list) => list.split(',')).map((name) => name.trim()))
    if (name !== '' && !known.has(name.toLowerCase())) known.set(name.toLowerCase(), name)
  return [...known.values()].join(', ')
}
