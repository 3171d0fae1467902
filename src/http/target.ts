/** A part of a path as it reads; `undefined` where it cannot be decoded. */
export function decodePart(part: string): string | undefined {
  if (!part.includes('%')) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/**
 * The path of a target below `prefix`, empty or with a slash in front, and its query string without the question mark;
 * `undefined` outside. Both are compared as they read when decoded once, part by part.
 */
export function splitTarget(
  target: string,
  prefix: string,
): { readonly path: string; readonly query: string } | undefined {
  const mark = target.indexOf('?')
  const whole = mark < 0 ? target : target.slice(0, mark)
  const [parts, base] = [whole.split('/'), prefix.split('/')]
  const isBelow = parts.length > 1 && base.every((part, i) => isSamePart(part, parts[i]))
  if (!isBelow) return undefined
  const path = parts
    .slice(base.length)
    .map((part) => `/${part}`)
    .join('')
  return { path, query: mark < 0 ? '' : target.slice(mark + 1) }
}

const isSamePart = (part: string, other: string | undefined): boolean =>
  part === other || (other !== undefined && decodePart(part) === decodePart(other) && isDecodable(part))

const isDecodable = (part: string): boolean => decodePart(part) !== undefined

/** What stands before the service's own paths: where a framework mounts it, and the rest of the base path. */
export function joinPrefix(mountPath: string, basePath: string): string {
  const [mount, base] = [mountPath.split('/'), basePath.split('/')]
  // Frameworks compare paths without regard to case; what they have matched is what stands in the target.
  const contains = mount.every((part, i) => isSamePart(part.toLowerCase(), base[i]?.toLowerCase()))
  const rest = base.slice(contains ? mount.length : 1)
  // It goes into headers, where the client's spelling of a mount path must not end what it stands in.
  return [...mount, ...rest].join('/').replace(/["<>\\^`{|}]|[^\x21-\x7e]/gu, encodeURIComponent)
}
