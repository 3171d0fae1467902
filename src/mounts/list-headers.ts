import type { ServerResponse } from 'node:http'

type Headers = { readonly [name: string]: string }

/** Headers of ours that are lists of names, which count once (RFC 9110 §12.5.5, Fetch). */
const NAMES: ReadonlySet<string> = new Set([
  'vary',
  'access-control-expose-headers',
  'access-control-allow-headers',
  'access-control-allow-methods',
])

/** Those that are lists of something longer (RFC 8288 §3, RFC 9110 §11.6.1). */
const ENTRIES: ReadonlySet<string> = new Set(['link', 'www-authenticate'])

/**
 * Our headers, those that are lists behind what something before us has put into the same. Any other has one meaning,
 * and that is ours; `Cache-Control` too, for `no-store` beside `public` is understood by some caches alone.
 */
export function addToLists(response: ServerResponse, headers: Headers): Headers {
  const added = Object.entries(headers).map(([name, ours]): [string, string] => {
    if (!NAMES.has(name) && !ENTRIES.has(name)) return [name, ours]
    const theirs = [response.getHeader(name) ?? []].flat().map(String)
    return [name, NAMES.has(name) ? joinNames([...theirs, ours]) : [...theirs, ours].join(', ')]
  })
  return Object.fromEntries(added)
}

/** Each name once, as it was written first. */
function joinNames(lists: readonly string[]): string {
  const known = new Map<string, string>()
  for (const name of lists.flatMap((list) => list.split(',')).map((name) => name.trim()))
    if (name !== '' && !known.has(name.toLowerCase())) known.set(name.toLowerCase(), name)
  return [...known.values()].join(', ')
}
