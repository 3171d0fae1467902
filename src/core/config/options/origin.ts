/** The header `Origin` of browsers: a scheme and a host in lower case, without a path; `null` for opaque origins. */
const ORIGIN = /^(?:null|[a-z][a-z\d+.-]*:\/\/[^/?#@\sA-Z*]+)$/

/** Whether browsers send a value in this form: a web origin, without the default port, with a host in ASCII. */
export function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || !ORIGIN.test(value)) return false
  return !/^https?:/.test(value) || (URL.canParse(value) && new URL(value).origin === value)
}
