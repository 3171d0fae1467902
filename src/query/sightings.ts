/** The size of the table: a power of two. */
const PLACES = 8192

/**
 * Creates a function that tells whether a text was seen recently. It stores hashes in a table of fixed size: a text
 * with the hash of another one counts as seen, and a text whose slot was overwritten counts as new.
 */
export function createSightings(): (text: string) => boolean {
  const numbers = new Int32Array(PLACES)
  return (text) => {
    const number = hash(text)
    const place = number & (PLACES - 1)
    if (numbers[place] === number) return true
    numbers[place] = number
    return false
  }
}

/** FNV-1a over the UTF-16 units of a text. */
function hash(text: string): number {
  let number = 0x811c9dc5 | 0
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 0x01000193)
  return number
}
