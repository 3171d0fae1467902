/** Encodes bytes as base64url, without padding, for URLs and headers (RFC 4648, section 5). */
export const encodeBase64url = (bytes: Uint8Array): string => encodeBinary(binaryOf(bytes))

/** Encodes the UTF-8 bytes of a string as base64url. */
export const encodeText = (text: string): string =>
  // In an ASCII string, each UTF-16 unit already is one byte.
  /[^\0-\x7f]/.test(text) ? encodeBase64url(encoder.encode(text)) : encodeBinary(text)

const encoder = new TextEncoder()

const encodeBinary = (binary: string): string =>
  btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** The maximum number of arguments of one call, because engines limit it. */
const MAX_ARGUMENTS = 8192

function binaryOf(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += MAX_ARGUMENTS)
    binary += String.fromCharCode(...bytes.subarray(i, i + MAX_ARGUMENTS))
  return binary
}

/** Decodes base64url; returns `undefined` for any other string. */
export function decodeBase64url(text: string): Uint8Array | undefined {
  // `atob` alone would ignore whitespace and accept padding.
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
