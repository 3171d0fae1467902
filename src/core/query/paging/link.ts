/** The characters that a query may contain but a URL must encode, and their encoded forms. */
const UNSAFE = /["#<>\\^`{|}]/g

/**
 * Returns the parameters of a query except its position in a list or a stream, as they are in a link. Ends in `&` or
 * is empty.
 */
export const writeOthers = (text: string): string =>
  text
    .replace(UNSAFE, encodeURIComponent)
    .split('&')
    .filter((part) => part !== '' && !isPlace(part))
    .map((part) => `${part}&`)
    .join('')

const PLACES: readonly string[] = ['after', 'skip', 'lastEventId']

function isPlace(part: string): boolean {
  const name = part.slice(0, part.indexOf('='))
  return PLACES.includes(name.includes('%') ? decodeURIComponent(name) : name)
}
