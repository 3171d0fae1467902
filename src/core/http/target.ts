/** Decodes a part of a path; returns `undefined` if it cannot be decoded. */
export function decodePart(part: string): string | undefined {
  if (!part.includes('%')) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/**
 * Splits a request target into its path below `prefix` and its query string without the question mark. Returns
 * `undefined` if the path is not below `prefix`, which is empty or begins with a slash. Paths are compared part by
 * part; each part is decoded once.
 */
export function splitTarget(
  target: string,
  prefix: string,
): { readonly path: string; readonly query: string } | undefined {
  const mark = target.indexOf('?')
  const whole = mark < 0 ? target : target.slice(0, mark)
  const path = pathBelow(whole, prefix)
  return path === undefined ? undefined : { path, query: mark < 0 ? '' : target.slice(mark + 1) }
}

function pathBelow(whole: string, prefix: string): string | undefined {
  // Fast path: most clients spell the prefix without encoding.
  if (whole.startsWith(prefix) && whole[prefix.length] === '/') return whole.slice(prefix.length)
  const [parts, base] = [whole.split('/'), prefix.split('/')]
  const isBelow = parts.length > 1 && base.every((part, i) => isSamePart(part, parts[i]))
  if (!isBelow) return undefined
  return parts
    .slice(base.length)
    .map((part) => `/${part}`)
    .join('')
}

const isSamePart = (part: string, other: string | undefined): boolean =>
  part === other || (other !== undefined && decodePart(part) === decodePart(other) && isDecodable(part))

const isDecodable = (part: string): boolean => decodePart(part) !== undefined

/** Joins the mount path of a framework and the part of the base path that the mount path does not already contain. */
export function joinPrefix(mountPath: string, basePath: string): string {
  const [mount, base] = [mountPath.split('/'), basePath.split('/')]
  // Frameworks match paths case-insensitively, and the mount path has the client's spelling.
  const contains = mount.every((part, i) => isSamePart(part.toLowerCase(), base[i]?.toLowerCase()))
  const rest = base.slice(contains ? mount.length : 1)
  // The result is used in headers, so characters of the client's spelling that would end a header value are encoded.
  return [...mount, ...rest].join('/').replace(/["<>\\^`{|}]|[^\x21-\x7e]/gu, encodeURIComponent)
}
