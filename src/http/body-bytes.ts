import { ServiceError } from '../errors.js'

/** Joins the chunks of a body. */
export function joinBytes(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (first && chunks.length === 1) return first
  const joined = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    joined.set(chunk, offset)
    offset += chunk.length
  }
  return joined
}

/** The error for a body beyond `limits.bodyBytes`. */
export const tooLarge = (limit: number): ServiceError =>
  new ServiceError('body_too_large', `The body has more than ${limit} bytes.`)

/** The error for a body that did not arrive completely. */
export const tooSlow = (): ServiceError =>
  new ServiceError('request_timeout', 'The body did not arrive in time.')
