/**
 * An IP address as its eight groups of 16 bits. An IPv4 address has the groups of its IPv4-mapped form (RFC 4291
 * §2.5.5.2), so that both spellings of it are equal.
 */
export type IpAddress = readonly number[]

/** The addresses whose first `bits` bits, out of 128, are those of `address`. */
export interface Network {
  readonly address: IpAddress
  readonly bits: number
}

/** The first groups of every IPv4 address. */
const MAPPED: IpAddress = [0, 0, 0, 0, 0, 0xffff]

/** The bits of `MAPPED`. */
const MAPPED_BITS = 96

const GROUPS = 8

const GROUP_BITS = 16

const ALL_BITS = GROUPS * GROUP_BITS

export const isIPv4 = (address: IpAddress): boolean => MAPPED.every((group, i) => group === address[i])

/**
 * Returns an address without its zone; `undefined` for any other text. A number of IPv4 with a leading zero is no
 * address, because some programs read it as octal.
 */
export function parseAddress(text: string): IpAddress | undefined {
  if (text.includes(':')) return parseIPv6(text)
  const groups = parseIPv4(text)
  return groups && [...MAPPED, ...groups]
}

function parseIPv4(text: string): readonly [high: number, low: number] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => OCTET.test(part))) return undefined
  const [first = 0, second = 0, third = 0, fourth = 0] = parts.map(Number)
  return [first * 256 + second, third * 256 + fourth]
}

const OCTET = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/

/** Matches an IPv6 address with or without a zone (RFC 4007 §11), which only its own machine understands. */
const IPV6 = /^([\da-f:.]{2,45})(?:%[^%\s]+)?$/i

function parseIPv6(text: string): IpAddress | undefined {
  const [, written = ''] = IPV6.exec(text) ?? []
  const [first, last, ...others] = withoutIPv4(written).split('::').map(parseGroups)
  if (!first || others.length > 0) return undefined
  if (!written.includes('::')) return first.length === GROUPS ? first : undefined
  const missing = GROUPS - first.length - (last?.length ?? 0)
  return last && missing > 0 ? [...first, ...Array.from({ length: missing }, () => 0), ...last] : undefined
}

/** Replaces an IPv4 address at the end by two groups of IPv6. */
function withoutIPv4(text: string): string {
  const start = text.lastIndexOf(':') + 1
  const groups = text.includes('.') ? parseIPv4(text.slice(start)) : undefined
  return groups ? text.slice(0, start) + groups.map((group) => group.toString(16)).join(':') : text
}

function parseGroups(text: string): readonly number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  return groups.every((group) => GROUP.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : undefined
}

const GROUP = /^[\da-f]{1,4}$/i

/** Prints an address in its canonical form: IPv4 with dots, IPv6 according to RFC 5952. */
export function printAddress(address: IpAddress): string {
  if (isIPv4(address)) {
    return address
      .slice(MAPPED.length)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  }
  const text = address.map((group) => group.toString(16)).join(':')
  const runs = Array.from(text.matchAll(/\b0(?::0)+\b/g), ([run]) => run)
  const longest = runs.reduce((one, other) => (other.length > one.length ? other : one), '')
  return longest === '' ? text : text.replace(new RegExp(`(?:^|:)${longest}(?::|$)`), '::')
}

/**
 * Parses a network in CIDR notation, or a single address. Returns `undefined` for any other text. The bits after the
 * prefix are kept, see `maskNetwork`.
 */
export function parseNetwork(text: string): Network | undefined {
  const [, written = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = written.includes('%') ? undefined : parseAddress(written)
  if (!address) return undefined
  const before = written.includes(':') ? 0 : MAPPED_BITS
  const bits = length === undefined ? ALL_BITS : before + Number(length)
  return bits <= ALL_BITS ? { address, bits } : undefined
}

/** Returns a network whose address has no bits after the prefix. */
export const maskNetwork = ({ address, bits }: Network): Network => ({
  address: address.map((group, i) => group & maskOf(bits, i)),
  bits,
})

/** Returns the bits of a group that belong to a prefix of `bits` bits. */
function maskOf(bits: number, group: number): number {
  const taken = Math.min(GROUP_BITS, Math.max(0, bits - group * GROUP_BITS))
  return (0xffff << (GROUP_BITS - taken)) & 0xffff
}

/** Prints a network in CIDR notation. */
export function printNetwork({ address, bits }: Network): string {
  return `${printAddress(address)}/${isIPv4(address) ? bits - MAPPED_BITS : bits}`
}

/** Whether a network contains an address. A network of IPv6 contains no IPv4 address. */
export const isInNetwork = (address: IpAddress, { address: start, bits }: Network): boolean =>
  isIPv4(address) === isIPv4(start) &&
  start.every((group, i) => (group & maskOf(bits, i)) === ((address[i] ?? 0) & maskOf(bits, i)))
