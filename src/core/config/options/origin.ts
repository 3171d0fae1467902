/**
 * Matches an `Origin` header as browsers send it: a lower-case scheme and host, without a path, or `null`.
 */
const ORIGIN = /^(?:null|[a-z][a-z\d+.-]*:\/\/[^/?#@\sA-Z*]+)$/

/**
 * Whether browsers send an origin in this form. For http and https, they omit the default port and write the
 * host in ASCII.
 */
export function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || !ORIGIN.test(value)) return false
  return !/^https?:/.test(value) || (URL.canParse(value) && new URL(value).origin === value)
}
