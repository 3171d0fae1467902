import { type IpAddress, parseAddress } from './ip-address.js'

/** The headers to which a proxy adds the address of its client. */
export const HEADERS = ['x-forwarded-for', 'forwarded'] as const

export type ForwardedHeader = (typeof HEADERS)[number]

export const DEFAULT_HEADER: ForwardedHeader = 'x-forwarded-for'

/** Reads a header: the text of its entries from right to left, and the address in such an entry. */
export interface HeaderReader {
  /** Returns the entries from right to left, without empty ones. Each proxy adds its entry at the right. */
  entries(list: string): readonly string[]
  /** Returns the address of an entry; `undefined` for any other text, such as `unknown`. */
  address(entry: string): IpAddress | undefined
}

/**
 * Returns the entries of a list from right to left, split at its commas. In quoted strings, commas do not count. A client can open a quoted
 * string and never close it; from the right, the entries that proxies have added are still read correctly.
 */
function splitFromRight(list: string, hasQuotes: boolean): readonly string[] {
  const entries: string[] = []
  let end = list.length
  let isQuoted = false
  for (let i = end - 1; i >= -1; i--) {
    if (hasQuotes && list[i] === '"' && !(isQuoted && isEscaped(list, i))) isQuoted = !isQuoted
    if (i >= 0 && (list[i] !== ',' || isQuoted)) continue
    const entry = list.slice(i + 1, end).trim()
    end = i
    if (entry !== '') entries.push(entry)
  }
  return entries
}

/** Whether a quote belongs to the quoted string that contains it, because a backslash is before it. */
function isEscaped(text: string, quote: number): boolean {
  let start = quote
  while (text[start - 1] === '\\') start -= 1
  return (quote - start) % 2 === 1
}

/** Matches an address in brackets, or one of IPv4, and after it a port, which may be obfuscated (RFC 7239 §6). */
const WITH_PORT = /^(?:\[([^[\]]+)\]|([^:]+))(?::(?:\d{1,5}|_[\w.-]+))?$/

/** Returns the address of a node: with or without a port, IPv6 also without brackets. */
function readNode(node: string): IpAddress | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(node) ?? []
  return parseAddress(bracketed ?? plain ?? node)
}

/** Matches the next parameter of an entry of `Forwarded`: a name, and a token or a quoted string (RFC 7239 §4). */
const PARAMETER = /\s*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]+))\s*(?:;|$)/y

/** Returns the parameter `for` of an entry of `Forwarded`; `undefined` if the entry is malformed or names it twice. */
function readFor(entry: string): string | undefined {
  let found: string | undefined
  for (let start = 0; start < entry.length; start = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = start
    const match = PARAMETER.exec(entry)
    if (!match) return undefined
    const [, name = '', quoted, token = ''] = match
    if (name.toLowerCase() !== 'for') continue
    if (found !== undefined) return undefined
    found = quoted?.replace(/\\(.)/g, '$1') ?? token
  }
  return found
}

/** The reader of each header. */
export const READERS: { readonly [header in ForwardedHeader]: HeaderReader } = {
  'x-forwarded-for': { entries: (list) => splitFromRight(list, false), address: readNode },
  forwarded: {
    entries: (list) => splitFromRight(list, true),
    address(entry) {
      const node = readFor(entry)
      return node === undefined ? undefined : readNode(node)
    },
  },
}
