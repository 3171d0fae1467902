/** The bits of a word. */
export const BITS = 32

/** A set of small numbers as words of bits. */
export function toWords(members: Iterable<number>, width: number): Int32Array {
  const words = new Int32Array(width)
  for (const member of members) {
    const word = Math.floor(member / BITS)
    words[word] = (words[word] ?? 0) | (1 << (member % BITS))
  }
  return words
}

/** The words of a set that are not empty: `[word, bits, word, bits…]`. */
export const toSparse = (members: Iterable<number>, width: number): readonly number[] =>
  [...toWords(members, width)].flatMap((bits, word) => (bits === 0 ? [] : [word, bits]))
