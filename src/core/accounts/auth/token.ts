import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from '../../json/base64url.js'

const TOKEN_BYTES = 32
const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** Creates an opaque session token: 256 random bits in base64url. */
export const createToken = (): string => createRandomText(TOKEN_BYTES)

/** Creates a stamp: 128 random bits. A session is valid only as long as its user has the same stamp. */
export const createStamp = (): string => createRandomText(16)

const createRandomText = (length: number): string =>
  encodeBase64url(crypto.getRandomValues(new Uint8Array(length)))

/** Whether a string has the form of a token. */
export const isToken = (text: string): boolean => TOKEN.test(text)

/**
 * Returns the SHA-256 of bytes, or of a string in UTF-8, in hexadecimal. Uses the runtime's synchronous hash function
 * if there is one, as in Node.
 */
export const digest = (data: Uint8Array | string): string =>
  builtIn
    ? builtIn('sha256', data, 'hex')
    : bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data))

type Digest = (algorithm: string, data: Uint8Array | string, encoding: 'hex') => string

const { process } = globalThis as {
  readonly process?: { getBuiltinModule?(name: string): { readonly hash?: Digest } | undefined }
}
const builtIn = process?.getBuiltinModule?.('node:crypto')?.hash

/** Returns the digest that is stored instead of a token. */
export const digestToken = (token: string): string => digest(token)
