/** The texts that are remembered at most: a power of two. */
const PLACES = 8192

/**
 * Creates what tells whether a text was seen before, not long ago. It remembers numbers made of texts, in one table
 * that never grows: a text whose number another one has counts as seen, and one whose place another took as new.
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

/** FNV-1a over the units of a text. */
function hash(text: string): number {
  let number = 0x811c9dc5 | 0
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 0x01000193)
  return number
}
