import type { Collection } from '../config/plan.js'

/** What lies below `/auth`. */
export type AccountRoute = 'register' | 'login' | 'logout' | 'logout-all' | 'me'

/** What a path leads to. */
export type Route =
  | { readonly kind: 'collection' | 'count' | 'bulk'; readonly collection: Collection }
  | { readonly kind: 'document'; readonly collection: Collection; readonly id: string }
  | { readonly kind: AccountRoute }
  | { readonly kind: 'root' }

export type RouteKind = Route['kind']

/** What the service answers, beside HEAD and OPTIONS. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** The methods of each kind of route; HEAD goes with GET, and OPTIONS with all. */
export const METHODS: { readonly [kind in RouteKind]: readonly Method[] } = {
  collection: ['GET', 'POST'],
  count: ['GET'],
  bulk: ['POST'],
  document: ['GET', 'PATCH', 'PUT', 'DELETE'],
  register: ['POST'],
  login: ['POST'],
  logout: ['POST'],
  'logout-all': ['POST'],
  me: ['GET'],
  root: ['GET'],
}

/** The value of `Allow` for a kind of route. */
export const allowedMethods = (kind: RouteKind): string =>
  [...METHODS[kind].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(
    ', ',
  )

/** Every account route, by the name that it has below `/auth`. */
export const ACCOUNT_ROUTES: readonly AccountRoute[] = ['register', 'login', 'logout', 'logout-all', 'me']

/** Finds the route of a path below the base path; the empty one is the root. `undefined` where there is none. */
export function findRoute(
  path: string,
  collections: ReadonlyMap<string, Collection>,
  options: { readonly hasAccountRoutes: boolean },
): Route | undefined {
  if (path === '' || path === '/') return { kind: 'root' }
  const [, ...parts] = path.split('/')
  if (parts.length > 1 && parts.at(-1) === '') parts.pop()
  const [name, second] = parts.map(decodePart)
  if (name === undefined || parts.length > 2) return undefined
  if (name === 'auth') {
    const kind = options.hasAccountRoutes ? ACCOUNT_ROUTES.find((route) => route === second) : undefined
    return kind && { kind }
  }
  const collection = collections.get(name)
  if (!collection) return undefined
  if (parts.length === 1) return { kind: 'collection', collection }
  if (second === undefined || second === '') return undefined
  // Secrets are hashed one by one: there is no bulk of them.
  if (second === 'bulk' && collection.hashes.length === 0) return { kind: 'bulk', collection }
  return second === 'count' ? { kind: 'count', collection } : { kind: 'document', collection, id: second }
}

function decodePart(part: string): string | undefined {
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
