import type { IncomingMessage } from 'node:http'

/** Headers of which Node keeps the first value and drops the others, where a fetch edge joins them. */
const KEPT_ONCE: readonly string[] = ['authorization', 'content-type']

/** The values of a header. A value that a framework has set replaces the one that was sent. */
export function readHeader(
  { headers, rawHeaders }: IncomingMessage,
  name: string,
): string | string[] | undefined {
  const value = headers[name]
  if (value === undefined || !rawHeaders || !KEPT_ONCE.includes(name)) return value
  let sent = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (isNamed(rawHeaders[i], name)) sent += 1
  if (sent < 2) return value
  const all = rawHeaders.filter((_, i) => i % 2 === 1 && isNamed(rawHeaders[i - 1], name))
  return all[0] === value ? all : value
}

const isNamed = (sent: string | undefined, name: string): boolean =>
  sent?.length === name.length && sent.toLowerCase() === name
