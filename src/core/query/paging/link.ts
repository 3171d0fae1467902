/** The characters that a query may contain but a URL must encode, and their encoded forms. */
const UNSAFE = /["#<>\\^`{|}]/g
const ENCODED = /%(?:2[23]|3[CE]|5[CE]|60|7[BCD])/g

/** Returns the query for a link, without its position in a list or a stream. Ends in `&` or is empty. */
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

/** Matches positions that are not cursors: `skip`, and the id that a client of event streams appends. */
const PLACE = /&(?:skip=\d{1,16}|lastEventId=[\w-]{1,1024})(?=&|$)/

/**
 * Returns the number of bytes of a query that count towards `queryBytes`: all except its position
 * (CONTRACT.md §3.7, and §9, "Resuming").
 */
export function countAsked(text: string): number {
  const asked = `&${text}`.replace(PLACE, '')
  return asked.length > text.length ? text.length : asked.replace(ENCODED, '.').length - 1
}
