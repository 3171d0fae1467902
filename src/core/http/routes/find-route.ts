import type { Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { compileEnvelope } from '../../fields/schema/envelope.js'
import { MAX_FAULTS } from '../../fields/schema/validator.js'
import { lowerUuid } from '../../json/uuid.js'
import type { Service } from '../../request/call.js'
import type { JsonObject } from '../../types.js'
import type { Endpoint, NamedByPath, Route, Routed } from './route.js'

/** The route that matches a path. */
export interface FoundRoute {
  /** The path as it is written in the table of routes. */
  readonly path: string
  /** The path with the collection's name, as in `/articles/{id}`. */
  readonly route: string
  /** The value of the `Allow` header. */
  readonly allow: string
  /** The endpoints by method. */
  readonly methods: ReadonlyMap<string, Endpoint<keyof NamedByPath>>
  readonly place: NamedByPath
}

/** The routes of one service. */
export interface Routes {
  /** Finds the route of a path below the base path; `undefined` if there is none. The empty path is the root. */
  find(path: string, options: { readonly hasAccountRoutes: boolean }): FoundRoute | undefined
  /** Returns the validation errors of a body against the envelope of its endpoint. */
  judgeBody(endpoint: Endpoint<keyof NamedByPath>, body: JsonObject): readonly Fault[]
  /** The public paths below `/auth`. */
  readonly accountPaths: readonly string[]
}

/** A node of the tree that finds the route of a path part by part. */
interface RouteNode {
  /** The next nodes, by the part of the path that leads to them. */
  readonly names: Map<string, RouteNode>
  /** The next node for a part that is the `_id` of a document. */
  rest?: RouteNode
  /** The route whose path ends at this node. */
  found?: FoundRoute
}

const createBranch = (): RouteNode => ({ names: new Map() })

/** Creates the routes of a service. `table`: all routes. */
export function createRoutes(
  table: readonly Route[],
  service: Service,
  options: Pick<Routed, 'isDescribed' | 'hasHealth'>,
): Routes {
  const { accounts } = service
  const open = table.filter((one) => isIn(one, { ...service, ...options }))
  // Compiled here, when the service is created, because some runtimes forbid compilation after modules are loaded.
  const validators = new Map(
    open
      .flatMap(({ methods }) => Object.values(methods))
      .flatMap((endpoint) => {
        const judge = compileJudge(endpoint, service)
        return judge ? [[endpoint, judge] as const] : []
      }),
  )
  const all = plant(open, service)
  const others = plant(
    open.filter(({ path }) => !isAccountPath(path)),
    service,
  )
  return {
    find: (path, { hasAccountRoutes }) => findIn(hasAccountRoutes ? all : others, path),
    judgeBody(endpoint, body) {
      return validators.get(endpoint)?.(body) ?? []
    },
    accountPaths: accounts
      ? open
          .filter(({ path, isOpen }) => isAccountPath(path) && isOpen?.(accounts) !== false)
          .filter(({ path }) => !path.includes(':'))
          .map(({ path }) => path)
      : [],
  }
}

type JudgeBody = (body: JsonObject) => readonly Fault[]

/**
 * Compiles the validation of a body that is not a document: first against its schema, then by the rules that a schema
 * cannot express.
 */
function compileJudge(
  { envelope, judge }: Endpoint<keyof NamedByPath>,
  service: Service,
): JudgeBody | undefined {
  const validate = envelope && compileEnvelope(envelope(service))
  if (!validate || !judge) return validate
  return (body) => {
    const faults = validate(body)
    const known = new Set(faults.map(({ path }) => path))
    return [...faults, ...judge(body, service).filter(({ path }) => !known.has(path))].slice(0, MAX_FAULTS)
  }
}

/** Whether a service has a route. */
export const isIn = ({ path, isThere }: Route, service: Routed): boolean =>
  (service.accounts !== null || !isAccountPath(path)) && isThere?.(service) !== false

const isAccountPath = (path: string): boolean => path.startsWith('/auth/')

/** Returns the paths of a route, one for each collection if the route has the placeholder `:collection`. */
function expandRoute(
  route: Route,
  { accounts, plan }: Service,
): readonly (readonly [path: string, found: FoundRoute | undefined])[] {
  const named = Object.keys(route.methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  const common = {
    path: route.path,
    allow: [...named, 'OPTIONS'].join(', '),
    methods: new Map(Object.entries(route.methods)),
  }
  if (!route.path.startsWith('/:collection')) {
    // The endpoints of a route without a collection read only the properties of `place` that their path names, so the
    // other properties can be missing.
    const shown = showPath(route.path)
    return [[route.path, { ...common, route: shown, place: { auth: accounts } as NamedByPath }]]
  }
  return [...plan.collections.values()]
    .map((collection): [Collection, boolean] => [collection, route.isIn?.(collection) !== false])
    .filter(([, isIn]) => isIn || route.isReserved)
    .map(([collection, isIn]) => {
      const path = route.path.replace(':collection', collection.name)
      const place = { collection, auth: accounts } as NamedByPath
      return [path, isIn ? { ...common, route: showPath(path), place } : undefined]
    })
}

const showPath = (path: string): string => path.replace(':id', '{id}')

/** Creates the tree of routes. If two routes have the same path, the first one is used. */
function plant(routes: readonly Route[], service: Service): RouteNode {
  const root = createBranch()
  for (const [path, found] of routes.flatMap((route) => expandRoute(route, service))) {
    const branch = path.split('/').slice(1).reduce(grow, root)
    if (found) branch.found ??= found
  }
  return root
}

function grow(branch: RouteNode, part: string): RouteNode {
  if (part === ':id') {
    branch.rest ??= createBranch()
    return branch.rest
  }
  const next = branch.names.get(part) ?? createBranch()
  branch.names.set(part, next)
  return next
}

/** Finds the route of a path whose parts are still encoded. A slash at the end of the path is ignored. */
function findIn(root: RouteNode, path: string): FoundRoute | undefined {
  let branch: RouteNode | undefined = root
  let id: string | undefined
  if (path === '' || path === '/') return root.names.get('')?.found
  const end = path.endsWith('/') ? path.length - 1 : path.length
  for (let start = 1; start <= end; ) {
    const slash = path.indexOf('/', start)
    const stop = slash < 0 || slash > end ? end : slash
    const part = decodePart(path.slice(start, stop))
    if (!part) return undefined
    const next: RouteNode | undefined = branch.names.get(part)
    if (!next) id = lowerUuid(part)
    branch = next ?? branch.rest
    if (!branch) return undefined
    start = stop + 1
  }
  const { found } = branch
  if (!found || id === undefined) return found
  const { path: form, route, allow, methods, place } = found
  return { path: form, route, allow, methods, place: { collection: place.collection, id, auth: place.auth } }
}

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
  const query = mark < 0 ? '' : target.slice(mark + 1)
  // Fast path: most clients spell the prefix without encoding.
  if (whole.startsWith(prefix) && whole[prefix.length] === '/')
    return { path: whole.slice(prefix.length), query }
  const [parts, base] = [whole.split('/'), prefix.split('/')]
  const isBelow = parts.length > 1 && base.every((part, i) => isSamePart(part, parts[i]))
  return isBelow ? { path: ['', ...parts.slice(base.length)].join('/'), query } : undefined
}

const isSamePart = (part: string, other: string | undefined): boolean => {
  if (part === other || other === undefined) return part === other
  const decoded = decodePart(part)
  return decoded !== undefined && decoded === decodePart(other)
}

/** Joins the mount path of a framework and the part of the base path that the mount path does not already contain. */
export function joinPrefix(mountPath: string, basePath: string): string {
  const [mount, base] = [mountPath.split('/'), basePath.split('/')]
  // Frameworks match paths case-insensitively, and the mount path has the client's spelling.
  const contains = mount.every((part, i) => isSamePart(part.toLowerCase(), base[i]?.toLowerCase()))
  const rest = base.slice(contains ? mount.length : 1)
  // The result is used in headers, so characters of the client's spelling that would end a header value are encoded.
  return [...mount, ...rest].join('/').replace(/["<>\\^`{|}]|[^\x21-\x7e]/gu, encodeURIComponent)
}
