/** What browsers send as `Origin`: a scheme and a host in lower case, without a path; `null` for what has none. */
const ORIGIN = /^(?:null|[a-z][a-z\d+.-]*:\/\/[^/?#@\sA-Z*]+)$/

/** Whether browsers send it as it is: of the web, without a port that goes without saying, and with a host in ASCII. */
export function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || !ORIGIN.test(value)) return false
  return !/^https?:/.test(value) || (URL.canParse(value) && new URL(value).origin === value)
}
