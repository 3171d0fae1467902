import { digest } from '../accounts/auth/token.js'
import { ServiceError } from '../errors.js'
import type { KeptText } from '../permissions/kept-texts.js'
import type { Document } from '../types.js'
import type { IncomingRequest } from './answer.js'

/** A request whose headers may set conditions. */
type Conditional = Pick<IncomingRequest, 'header'>

/** A strong entity tag: the digest of the whole document as its caller may read it, without a projection. */
export const etagOf = (shown: Document): string => etagOfText(JSON.stringify(shown))

/** The same, of the document's JSON text. For a kept text it is computed once. */
export function etagOfText(text: string | KeptText): string {
  if (typeof text === 'string') return tagOf(text)
  text.etag ??= tagOf(text.bytes)
  return text.etag
}

const tagOf = (text: Uint8Array | string): string => `"${digest(text).slice(0, 32)}"`

/** A list of tags, weak or strong, separated by commas (RFC 9110 §8.8.3). */
const TAG_LIST =
  /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"\s*(?:,\s*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"\s*)?)*$/

const MAX_HEADER = 8192

/** Whether a text is a list of entity tags, or `*`. */
export const isTags = (text: string): boolean => text.trim() === '*' || isTagList(text)

const isTagList = (header: string): boolean => header.length <= MAX_HEADER && TAG_LIST.test(header)

/** The end of a tag to which a proxy has added the content coding, as Apache, Caddy and Jetty do. */
const CODING = /--?(?:gzip|br|zstd|deflate)"$/

/**
 * Whether a header lists a tag, or is `*`. Throws `precondition_failed` for any other text. Both headers compare opaque
 * parts: proxies that compress make tags weak, or add the coding to them, and a tag is the digest of a document, which
 * no coding changes (CONTRACT.md §2, "Preconditions").
 */
function isListed(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  if (!isTagList(header)) {
    throw new ServiceError('precondition_failed', 'If-Match and If-None-Match take entity tags, or *.')
  }
  // Without their `W/`, which is outside the quotes.
  const tags = header.match(/"[^"]*"/g) ?? []
  return tags.some((tag) => tag === etag || tag.replace(CODING, '"') === etag)
}

/** Reads the condition that a writing request sets on the document's state (RFC 9110 §13.1). */
export function readExpectation(incoming: Conditional): (shown: Document) => boolean {
  const match = incoming.header('if-match')
  const noneMatch = incoming.header('if-none-match')
  if (match === undefined && noneMatch === undefined) return () => true
  return (shown) => {
    const etag = etagOf(shown)
    return isMatched(match, etag) && (noneMatch === undefined || !isListed(noneMatch, etag))
  }
}

/** The condition of If-Match alone. */
export function readMatch(request: Conditional): (shown: Document) => boolean {
  const match = request.header('if-match')
  return (shown) => match === undefined || isMatched(match, etagOf(shown))
}

/** Whether a document has a tag of an If-Match header, if there is one. Throws `precondition_failed`. */
export const isMatched = (match: string | undefined, etag: string): boolean =>
  match === undefined || isListed(match, etag)

/** Whether a PUT may only create: it expects that no document exists yet (RFC 9110 §13.1.2). */
export const expectsNothing = (incoming: Conditional): boolean =>
  incoming.header('if-none-match')?.trim() === '*'

/** Whether the client of a reading request has the current document already. */
export function isKnown(incoming: Conditional, etag: string): boolean {
  const header = incoming.header('if-none-match')
  // An unreadable header is ignored: the response is then the whole document.
  const isReadable = header !== undefined && isTags(header)
  return isReadable && isListed(header, etag)
}
