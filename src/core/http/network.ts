/** Matches an IPv4 address that is written as an IPv6 address. */
const MAPPED = /^::ffff:([\d.]+)$/i

/**
 * Returns the network of a client's address. A client with one IPv6 address usually has all addresses with the same
 * first 64 bits, so these count as one (CONTRACT.md §4, "Throttle"). Any other text is returned unchanged.
 */
export function networkOf(address: string): string {
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped) return mapped
  if (!/^[\da-f:]+(?:%[^%]*)?$/i.test(address)) return address
  const [start = '', end, ...others] = (address.split('%')[0] ?? '').split('::')
  const [first, last] = [start, end ?? ''].map((part) => (part === '' ? [] : part.split(':')))
  if (!first || !last || others.length > 0 || (end === undefined && first.length !== 8)) return address
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = end === undefined ? first : [...first, ...zeros, ...last]
  if (groups.length !== 8) return address
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
