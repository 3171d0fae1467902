/** The bytes of a text in UTF-8. */
export type Bytes = Uint8Array<ArrayBuffer>
