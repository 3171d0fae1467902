import { ServiceError } from '../errors.js'

/** Collects the chunks of a body. */
export interface BodyBytes {
  readonly length: number
  add(chunk: Uint8Array): void
  /** Returns the bytes of all chunks. */
  join(): Uint8Array
}

/**
 * Creates a collector of a body. It copies all chunks but the first into one buffer, because keeping a chunk of one
 * byte costs a hundred bytes.
 */
export function createBodyBytes(): BodyBytes {
  let bytes: Uint8Array = new Uint8Array()
  const body = {
    length: 0,
    add(chunk: Uint8Array) {
      const end = body.length + chunk.length
      if (body.length === 0) bytes = chunk
      else if (end > bytes.length) {
        const larger = new Uint8Array(Math.max(end, 2 * bytes.length))
        larger.set(bytes)
        bytes = larger
      }
      if (bytes !== chunk) bytes.set(chunk, body.length)
      body.length = end
    },
    join: () => bytes.subarray(0, body.length),
  }
  return body
}

/** Creates the error for a body that is larger than `limits.bodyBytes`. */
export const tooLarge = (limit: number): ServiceError =>
  new ServiceError('body_too_large', `The body has more than ${limit} bytes.`)

/** Creates the error for a body that did not arrive completely in time. */
export const tooSlow = (): ServiceError =>
  new ServiceError('request_timeout', 'The body did not arrive in time.')
