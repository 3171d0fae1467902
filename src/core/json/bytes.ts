/** The bytes of a text in UTF-8. */
export type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()

/** Returns the length of a string in bytes of UTF-8. */
export const countBytes = (text: string): number => encoder.encode(text).length
