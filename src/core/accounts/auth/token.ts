import { encodeBase64url } from '../../json/base64url.js'
import { digest } from '../../json/digest.js'

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

/** Returns the digest that is stored instead of a token. */
export const digestToken = (token: string): string => digest(token)
