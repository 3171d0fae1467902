import type { ServerResponse } from 'node:http'
import { bounds } from '../bounds.js'
import { isEndless, type TextStream } from '../http/answer.js'
import { IDLE_MILLISECONDS, piecesOf } from '../http/send-stream.js'
import type { Bytes } from '../json/bytes.js'

/** Texts or bytes, in order. */
type BodyPieces = (Iterable<string | Bytes> | AsyncIterable<string | Bytes>) & Pick<TextStream, 'isEndless'>

/**
 * Writes texts or bytes as fast as their client takes them, in small pieces, which show whether the client
 * still reads. Returns false where the client has disconnected, or stops reading a finite body for too long: the
 * connection is then broken.
 */
export async function sendPieces(response: ServerResponse, parts: BodyPieces): Promise<boolean> {
  for await (const part of parts) {
    for (const piece of typeof part === 'string' ? piecesOf(part) : bytesOf(part)) {
      // Data that the system has taken at once needs no wait.
      if (response.write(piece) === false && leftIn(response) !== 0 && !(await isTaken(response, parts)))
        return false
    }
  }
  response.end()
  return true
}

function* bytesOf(bytes: Bytes): Generator<Bytes, void, undefined> {
  const { sentCharacters: size } = bounds
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

/**
 * Waits until a client has taken the written data; false where it has disconnected, or stops reading for too
 * long. An endless stream bounds its own backlog.
 */
function isTaken(response: ServerResponse, parts: BodyPieces): Promise<boolean> {
  return new Promise((resolve) => {
    let left = leftIn(response)
    const finish = (isTaken: boolean): void => {
      clearTimeout(timer)
      response.off('drain', onDrain).off('close', onClose)
      if (!isTaken) response.destroy()
      resolve(isTaken)
    }
    const onDrain = (): void => finish(true)
    const onClose = (): void => finish(false)
    const onIdle = (): void => {
      const before = left
      left = leftIn(response)
      if (left === before && !isEndless(parts)) finish(false)
      else timer = setTimeout(onIdle, IDLE_MILLISECONDS)
    }
    let timer = setTimeout(onIdle, IDLE_MILLISECONDS)
    response.on('drain', onDrain).on('close', onClose)
    if (response.destroyed) onClose()
  })
}

/** The bytes that the client has not taken yet; some frameworks' responses have no socket. */
const leftIn = ({ writableLength, socket }: ServerResponse): number =>
  writableLength + (socket?.writableLength ?? 0)
