import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

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
