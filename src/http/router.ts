import type { Collection } from '../config/plan.js'

/** What lies below `/auth`. */
export type AccountRoute = 'register' | 'login' | 'logout' | 'logout-all' | 'me'

/** What a path leads to. */
export type Route =
  | { readonly kind: 'collection' | 'count' | 'bulk'; readonly collection: Collection }
  | { readonly kind: 'document'; readonly collection: Collection; readonly id: string }
  | { readonly kind: AccountRoute }

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
}

/** The value of `Allow` for a kind of route. */
export const allowedMethods = (kind: RouteKind): string =>
  [...METHODS[kind].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(
    ', ',
  )

const ACCOUNT_ROUTES: ReadonlyMap<string, AccountRoute> = new Map([
  ['register', 'register'],
  ['login', 'login'],
  ['logout', 'logout'],
  ['logout-all', 'logout-all'],
  ['me', 'me'],
])

/** Finds the route of a path below the base path; `undefined` where there is none. */
export function findRoute(
  path: string,
  collections: ReadonlyMap<string, Collection>,
  options: { readonly hasAccountRoutes: boolean },
): Route | undefined {
  const [empty, ...parts] = path.split('/')
  if (empty !== '') return undefined
  if (parts.length > 1 && parts.at(-1) === '') parts.pop()
  const [name, second] = parts.map(decodePart)
  if (name === undefined || parts.length > 2) return undefined
  if (name === 'auth') {
    const kind = options.hasAccountRoutes ? ACCOUNT_ROUTES.get(second ?? '') : undefined
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

/** The path of a target below `prefix`, and its query string without the question mark; `undefined` outside. */
export function splitTarget(
  target: string,
  prefix: string,
): { readonly path: string; readonly query: string } | undefined {
  const mark = target.indexOf('?')
  const whole = mark < 0 ? target : target.slice(0, mark)
  if (!whole.startsWith(`${prefix}/`)) return undefined
  return { path: whole.slice(prefix.length), query: mark < 0 ? '' : target.slice(mark + 1) }
}
