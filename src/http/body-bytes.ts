import { ServiceError } from '../errors.js'

/** The chunks of a body in one piece. */
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

/** A body beyond `limits.bodyBytes`. */
export const tooLarge = (limit: number): ServiceError =>
  new ServiceError('body_too_large', `The body has more than ${limit} bytes.`)

/** A body that did not arrive whole. */
export const tooSlow = (): ServiceError =>
  new ServiceError('request_timeout', 'The body did not arrive in time.')
