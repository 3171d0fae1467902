import type { IncomingMessage } from 'node:http'
import type { ServiceError } from '../errors.js'
import type { IncomingRequest } from '../http/answer.js'
import { createBodyBytes, tooLarge, tooSlow } from '../http/body-bytes.js'
import type { MaybePromise } from '../types.js'
import { type ParsedRequest, readParsedBody } from './parsed-body.js'

/** The time in which a body has to arrive. */
export type Time = Parameters<IncomingRequest['readBody']>[1]

/** The bytes of a request's body, as its framework has read them, or from the stream. Throws `body_too_large`. */
export function readMessageBody(request: ParsedRequest, limit: number, time: Time): MaybePromise<Uint8Array> {
  const parsed = readParsedBody(request)
  if (parsed) {
    if (parsed.length > limit) throw tooLarge(limit)
    return parsed
  }
  if (request.readableEnded)
    throw new TypeError(
      "the host has read the body of this request and has not handed it over: set node's request.body to it first",
    )
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limit) throw tooLarge(limit)
  return readWhole(request, length) ?? collectMessage(request, limit, time)
}

/** A body that is there already; `null` where some of it is still to come. */
function readWhole(request: IncomingMessage, length: number): Uint8Array | null {
  if (length === 0 || request.readableFlowing || request.readableLength !== length) return null
  const whole = toBytes(request, request.read())
  // Otherwise the request would never end.
  request.resume()
  return whole
}

/** What a stream gives, which is text where somebody has set its encoding. */
const toBytes = (request: IncomingMessage, given: Uint8Array | string): Uint8Array =>
  typeof given === 'string' ? Buffer.from(given, request.readableEncoding ?? 'utf8') : given

function collectMessage(request: IncomingMessage, limit: number, time: Time): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = createBodyBytes()
    let isOver = false
    const end = (error: () => ServiceError): void => {
      if (isOver) return
      isOver = true
      reject(error())
    }
    const refuse = (): ServiceError => tooLarge(limit)
    const onBroken = (): void => end(tooSlow)
    // The listeners may stay when the body is there: they go with the request.
    request
      .on('data', (given: Uint8Array | string) => {
        if (isOver) return
        const chunk = toBytes(request, given)
        if (body.length + chunk.length <= limit) return body.add(chunk)
        request.pause()
        end(refuse)
      })
      .on('end', () => {
        if (!isOver) resolve(body.join())
        isOver = true
      })
      .on('error', onBroken)
      .on('close', onBroken)
      // It may be paused, by the mount or by somebody before it.
      .resume()
    time.onOver(onBroken)
    if (request.destroyed) onBroken()
  })
}
