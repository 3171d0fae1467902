import { ServiceError } from '../errors.js'
import { digest } from '../json/digest.js'
import type { KeptText } from '../permissions/kept-texts.js'
import type { Document } from '../types.js'

/** A request whose headers may set conditions. */
interface Conditional {
  header(name: string): string | undefined
}

/**
 * Returns the strong entity tag of a document: the digest of all that the caller may read of it, without a projection.
 */
export const etagOf = (shown: Document): string => etagOfText(JSON.stringify(shown))

/** Returns the entity tag of a document's JSON text. For a cached text it is computed once. */
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

/** Whether a header value is a list of entity tags, or `*`. */
export const isTags = (text: string): boolean => text.trim() === '*' || isTagList(text)

const isTagList = (header: string): boolean => header.length <= MAX_HEADER && TAG_LIST.test(header)

/** Matches the end of a tag to which a proxy has added a content coding, as Apache, Caddy and Jetty do. */
const CODING = /--?(?:gzip|br|zstd|deflate)"$/

/**
 * Whether a header lists a tag or is `*`. Throws `precondition_failed` for any other text. Tags are compared without
 * `W/` and content coding, which compressing proxies add, because compression does not change the document whose digest
 * the tag is (CONTRACT.md §2, "Preconditions").
 */
function isListed(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  if (!isTagList(header)) {
    throw new ServiceError('precondition_failed', 'If-Match and If-None-Match must contain entity tags or *.')
  }
  // Matches the tags without `W/`, which is outside the quotes.
  const tags = header.match(/"[^"]*"/g) ?? []
  return tags.some((tag) => tag === etag || tag.replace(CODING, '"') === etag)
}

/** Returns the condition that a writing request sets on the document's state (RFC 9110 §13.1). */
export function readExpectation(incoming: Conditional): (shown: Document) => boolean {
  const match = incoming.header('if-match')
  const noneMatch = incoming.header('if-none-match')
  if (match === undefined && noneMatch === undefined) return () => true
  return (shown) => {
    const etag = etagOf(shown)
    return isMatched(match, etag) && (noneMatch === undefined || !isListed(noneMatch, etag))
  }
}

/** Whether an entity tag satisfies an `If-Match` header; true without the header. Throws if the header is malformed. */
export const isMatched = (match: string | undefined, etag: string): boolean =>
  match === undefined || isListed(match, etag)

/** Whether a PUT may only create a document, because it expects that none exists yet (RFC 9110 §13.1.2). */
export const expectsNothing = (incoming: Conditional): boolean =>
  incoming.header('if-none-match')?.trim() === '*'

/** Whether the client of a reading request already has the current version of the document. */
export function isKnown(incoming: Conditional, etag: string): boolean {
  const header = incoming.header('if-none-match')
  // A malformed header is ignored: the response then contains the document.
  const isReadable = header !== undefined && isTags(header)
  return isReadable && isListed(header, etag)
}
