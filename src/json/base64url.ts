/** Bytes as text for URLs and headers (RFC 4648, section 5), without padding. */
export const encodeBase64url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

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
