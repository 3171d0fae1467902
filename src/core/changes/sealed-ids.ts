import { decodeBase64url, encodeBase64url } from '../json/base64url.js'
import type { Bytes } from '../json/bytes.js'

/** The position of an event in the log, and the stream that it belongs to. */
export interface SealedPosition {
  /** The position in the log. */
  readonly position: string
  /** The time of the change at this position: milliseconds since 1970. */
  readonly time: number
  /** Identifies the list, in 32 hexadecimal digits. A stream resumes only if its list has the same digest. */
  readonly digest: string
}

/** Writes the ids of events, and reads those that clients send back. */
export interface SealedIds {
  seal(mark: SealedPosition): Promise<string>
  /** Reads an id. Returns `undefined` for any text that was not sealed under this key. */
  unseal(id: string): Promise<SealedPosition | undefined>
}

/**
 * The length of each part of an id. A position is text of at most 256 characters, plus an `_id` and the name of a
 * collection.
 */
const BYTES = {
  salt: 16,
  nonce: 12,
  time: 8,
  digest: 16,
  length: 2,
  position: 256 + 36 + 63,
  tag: 16,
} as const
const CONTENT = BYTES.time + BYTES.digest + BYTES.length + BYTES.position
const HEAD = BYTES.salt + BYTES.nonce

/** The length of an id: the same for all contents. */
export const ID_LENGTH = Math.ceil(((HEAD + CONTENT + BYTES.tag) * 4) / 3)

/**
 * The milliseconds for which a process uses one key derived from the stored key. Random nonces must not repeat under a
 * key, so each key has a limited number of uses (NIST SP 800-38D, 8.3). The limit is a time, because a limit on the
 * number of uses would reveal how many ids were written.
 */
const KEY_MILLISECONDS = 3_600_000

/**
 * Creates the reader and writer of ids, with a key of 32 bytes (AES-256-GCM). A position reveals how much is written,
 * so only the service can read it, and all ids have the same length. An id is valid only for its `purpose`.
 */
export function createSealedIds(
  secret: Bytes,
  { purpose, now }: { readonly purpose: string; readonly now: () => number },
): SealedIds {
  let deriving: Promise<CryptoKey> | undefined
  let present: { readonly salt: Bytes; readonly key: Promise<CryptoKey>; readonly until: number } | undefined
  let other: { readonly salt: string; readonly key: Promise<CryptoKey> } | undefined

  const derive = async (salt: Bytes): Promise<CryptoKey> => {
    deriving ??= crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey'])
    const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: new TextEncoder().encode(purpose) }
    return crypto.subtle.deriveKey(algorithm, await deriving, { name: 'AES-GCM', length: 256 }, false, [
      'encrypt',
      'decrypt',
    ])
  }
  const presentKey = () => {
    const time = now()
    if (present === undefined || time >= present.until || time < present.until - KEY_MILLISECONDS) {
      const salt = crypto.getRandomValues(new Uint8Array(BYTES.salt))
      present = { salt, key: derive(salt), until: time + KEY_MILLISECONDS }
    }
    return present
  }
  /**
   * Derives the key of a salt. Only one key of another process is cached: clients that reconnect at the same time
   * usually have ids of the same process.
   */
  const keyOf = (salt: Bytes): Promise<CryptoKey> => {
    const name = encodeBase64url(salt)
    if (present && encodeBase64url(present.salt) === name) return present.key
    if (other?.salt !== name) other = { salt: name, key: derive(salt) }
    return other.key
  }
  return {
    async seal(mark) {
      const { salt, key } = presentKey()
      const iv = crypto.getRandomValues(new Uint8Array(BYTES.nonce))
      const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, await key, writeMark(mark))
      const id = new Uint8Array(HEAD + sealed.byteLength)
      id.set(salt)
      id.set(iv, BYTES.salt)
      id.set(new Uint8Array(sealed), HEAD)
      return encodeBase64url(id)
    },
    async unseal(id) {
      const bytes = id.length === ID_LENGTH ? decodeBase64url(id) : undefined
      if (bytes === undefined || encodeBase64url(bytes) !== id) return undefined
      const part = (start: number, end?: number): Bytes => new Uint8Array(bytes.subarray(start, end))
      const algorithm = { name: 'AES-GCM', iv: part(BYTES.salt, HEAD) }
      try {
        const key = await keyOf(part(0, BYTES.salt))
        return readMark(new Uint8Array(await crypto.subtle.decrypt(algorithm, key, part(HEAD))))
      } catch {
        return undefined
      }
    },
  }
}

/** The offsets of the parts of the content. */
const AT = {
  digest: BYTES.time,
  length: BYTES.time + BYTES.digest,
  position: CONTENT - BYTES.position,
} as const

function writeMark({ position, time, digest }: SealedPosition): Bytes {
  const bytes = new Uint8Array(CONTENT)
  const view = new DataView(bytes.buffer)
  const text = new TextEncoder().encode(position)
  if (text.length > BYTES.position) throw new RangeError('a position of the log is too long')
  view.setFloat64(0, time)
  for (let i = 0; i < BYTES.digest; i++)
    bytes[AT.digest + i] = Number.parseInt(digest.slice(2 * i, 2 * i + 2), 16)
  view.setUint16(AT.length, text.length)
  bytes.set(text, AT.position)
  return bytes
}

function readMark(bytes: Bytes): SealedPosition {
  const view = new DataView(bytes.buffer)
  const hex = Array.from(bytes.subarray(AT.digest, AT.length), (byte) => byte.toString(16).padStart(2, '0'))
  const end = AT.position + view.getUint16(AT.length)
  return {
    time: view.getFloat64(0),
    digest: hex.join(''),
    position: new TextDecoder().decode(bytes.subarray(AT.position, end)),
  }
}
