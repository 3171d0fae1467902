/** Compares two answers. Texts for people may differ: `title`, `detail`, `message`, `description` and `summary`. */

const WORDS = new Set(['title', 'detail', 'message', 'description', 'summary'])

/** A value without words. A property of an OpenAPI schema that has such a name is an object, and stays. */
function withoutWords(value) {
  if (Array.isArray(value)) return value.map(withoutWords)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([name, inner]) => !(WORDS.has(name) && typeof inner === 'string'),
  )
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutWords(inner)]))
}

/** Numbers texts by their first occurrence: ids of events are sealed, and on SQLite hold the inode of a file. */
function createNumbers() {
  const numbers = new Map()
  return (text) => {
    if (!numbers.has(text)) numbers.set(text, numbers.size + 1)
    return `${numbers.get(text)}, of ${text.length} characters`
  }
}

/** The blocks of a stream. A comment comes by the time alone. */
function readEvents(text) {
  const numberOf = createNumbers()
  return text
    .split('\n\n')
    .filter((block) => !/^(?::.*\n?)+$/.test(block))
    .map((block) => block.replace(/^id: (.*)$/m, (_, id) => `id: ${numberOf(id)}`))
    .join('\n\n')
}

/** The parts of an exchange that are compared, each a text, by name. */
export function partsOf({ request, status, headers, body, stream }) {
  const named = Object.fromEntries(headers)
  const isDescription = /^(?:GET|HEAD) \S*\/_openapi\.json/.test(request) && [200, 304].includes(status)
  const isProblem = named['content-type'] === 'application/problem+json'
  const left = [
    ...(isDescription ? ['etag', 'content-length'] : []),
    // A HEAD tells the length of what it does not send.
    ...(isProblem ? ['content-length'] : []),
  ]
  const hasWords = (isProblem || isDescription) && body !== ''
  return {
    request: request.split(' ')[0],
    status: String(status),
    ...Object.fromEntries(
      headers.filter(([name]) => !left.includes(name)).map(([name, value]) => [`header ${name}`, value]),
    ),
    ...(left.includes('etag') && named.etag !== undefined ? { 'header etag': 'one' } : {}),
    body: stream ? readEvents(body) : hasWords ? JSON.stringify(withoutWords(JSON.parse(body))) : body,
  }
}

/** The parts in which two exchanges differ, each with both texts; `undefined` for an absent one. */
export function differencesOf(before, now) {
  const [old, young] = [partsOf(before), partsOf(now)]
  const names = [...new Set([...Object.keys(old), ...Object.keys(young)])]
  return names
    .filter((name) => old[name] !== young[name])
    .map((name) => ({ name, before: old[name], now: young[name] }))
}

const AROUND = 60

/** Two texts, each cut to the place where they begin to differ. */
export function cutToDifference(before = '(absent)', now = '(absent)') {
  let at = 0
  while (at < before.length && before[at] === now[at]) at += 1
  const cut = (text) => {
    const [from, to] = [Math.max(0, at - AROUND), at + 2 * AROUND]
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
  }
  return [cut(before), cut(now)]
}
