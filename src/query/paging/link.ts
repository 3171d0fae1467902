/** What no address holds as it is, though a query may, and the same encoded. */
const UNSAFE = /["#<>\\^`{|}]/g
const ENCODED = /%(?:2[23]|3[CE]|5[CE]|60|7[BCD])/g

/** The parameters of a query but for its place in a list, as a link repeats them; ends in `&` or is empty. */
export const writeOthers = (text: string): string =>
  text
    .replace(UNSAFE, encodeURIComponent)
    .split('&')
    .filter((part) => part !== '' && !/^(?:after|skip)=/.test(decodeURIComponent(part)))
    .map((part) => `${part}&`)
    .join('')

/** The bytes of a query without what a link by `skip` has added to it (CONTRACT.md §3.7). */
export function countAsked(text: string): number {
  const asked = text.replace(/(?:^|&)skip=\d{1,16}$/, '')
  return (asked === text ? text : asked.replace(ENCODED, '.')).length
}
