/** Bytes as text for URLs and headers (RFC 4648, section 5), without padding. */
export const encodeBase64url = (bytes: Uint8Array): string => encodeBinary(binaryOf(bytes))

/** Text as base64url of its UTF-8. */
export const encodeText = (text: string): string =>
  // Of ASCII, the units are the bytes.
  /[^\0-\x7f]/.test(text) ? encodeBase64url(encoder.encode(text)) : encodeBinary(text)

const encoder = new TextEncoder()

const encodeBinary = (binary: string): string =>
  btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** A function takes a limited number of arguments. */
const MAX_ARGUMENTS = 8192

function binaryOf(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += MAX_ARGUMENTS)
    binary += String.fromCharCode(...bytes.subarray(i, i + MAX_ARGUMENTS))
  return binary
}

/** The bytes that such a text stands for; `undefined` where it is not base64url. */
export function decodeBase64url(text: string): Uint8Array | undefined {
  // `atob` alone would ignore blanks and accept padding.
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
