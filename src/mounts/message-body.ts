import type { IncomingMessage } from 'node:http'
import type { ServiceError } from '../errors.js'
import type { IncomingRequest } from '../http/answer.js'
import { createBodyBytes, tooLarge, tooSlow } from '../http/body-bytes.js'
import type { MaybePromise } from '../types.js'
import { type ParsedRequest, readParsedBody } from './parsed-body.js'

/** The deadline for a body. */
export type Time = Parameters<IncomingRequest['readBody']>[1]

/** Reads the bytes of a request's body, as its framework has read them, or from the stream. Throws `body_too_large`. */
export function readMessageBody(request: ParsedRequest, limit: number, time: Time): MaybePromise<Uint8Array> {
  const parsed = readParsedBody(request)
  if (parsed) {
    if (parsed.length > limit) throw tooLarge(limit)
    return parsed
  }
  if (request.readableEnded)
    throw new TypeError(
      "the host has read the body of this request: set Node's request.body to the parsed body first",
    )
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limit) throw tooLarge(limit)
  return readWhole(request, length) ?? collectMessage(request, limit, time)
}

/** A body that has arrived; `null` where a part of it has not. */
function readWhole(request: IncomingMessage, length: number): Uint8Array | null {
  if (length === 0 || request.readableFlowing || request.readableLength !== length) return null
  const whole = toBytes(request, request.read())
  // Without this, the request would never end.
  request.resume()
  return whole
}

/** A chunk of a stream as bytes; it is text where other code has called `setEncoding`. */
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
    // The listeners need not be removed: they are collected with the request.
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
      // The mount, or other code before it, may have paused it.
      .resume()
    time.onOver(onBroken)
    if (request.destroyed) onBroken()
  })
}
