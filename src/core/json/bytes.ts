/** The bytes of a text in UTF-8. */
export type Bytes = Uint8Array<ArrayBuffer>

// On Node.js, the memory is not zeroed first, because every byte is written anyway.
const { Buffer: maker } = globalThis as {
  readonly Buffer?: { allocUnsafe(length: number): Bytes }
}
const allocate = (length: number): Bytes => (maker ? maker.allocUnsafe(length) : new Uint8Array(length))

const [COMMA, OPEN, CLOSE] = [0x2c, 0x5b, 0x5d]

/** Joins JSON values, given as bytes, to a JSON array. `length` is the number of bytes of the whole array. */
export function joinArray(values: readonly Bytes[], length: number): Bytes {
  const array = allocate(length)
  let end = 0
  for (const value of values) {
    array[end] = end === 0 ? OPEN : COMMA
    array.set(value, end + 1)
    end += 1 + value.length
  }
  array[end] = CLOSE
  return array
}
