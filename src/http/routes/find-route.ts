import type { Fault } from '../../errors.js'
import { compileEnvelope } from '../../schema/envelope.js'
import type { Service } from '../../service/call.js'
import type { JsonObject } from '../../types.js'
import { decodePart } from '../target.js'
import type { Endpoint, Place, Route } from './route.js'
import { ROUTES } from './table.js'

/** The route of a path. */
export interface FoundRoute {
  /** The value of the `Allow` header. */
  readonly allow: string
  /** The endpoints by method; what the path names is in `place`. */
  readonly methods: Route['methods']
  readonly place: Place
}

/** The table of routes, for one service. */
export interface Routes {
  /** Finds the route of a path below the base path; the empty path is the root. `undefined` for none. */
  find(path: string, options: { readonly hasAccountRoutes: boolean }): FoundRoute | undefined
  /** The faults of a body against its endpoint's envelope. */
  judgeBody(endpoint: Endpoint<keyof Place>, body: JsonObject): readonly Fault[]
  /** The open paths below `/auth`. */
  readonly accountPaths: readonly string[]
}

interface CompiledRoute extends Route {
  readonly parts: readonly string[]
  readonly allow: string
}

const compileRoute = (route: Route): CompiledRoute => {
  const methods = Object.keys(route.methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  return { ...route, parts: route.path.split('/').slice(1), allow: [...methods, 'OPTIONS'].join(', ') }
}

const COMPILED = ROUTES.map(compileRoute)

/** Creates the routes of a service. */
export function createRoutes(service: Service): Routes {
  const { accounts, plan } = service
  // Here, because some runtimes do not compile once a module is loaded.
  const validators = new Map(
    ROUTES.filter(({ path }) => accounts || !path.startsWith('/auth/'))
      .flatMap(({ methods }) => Object.values(methods))
      .flatMap((endpoint) =>
        endpoint.envelope ? [[endpoint, compileEnvelope(endpoint.envelope(service))] as const] : [],
      ),
  )
  return {
    find(path, { hasAccountRoutes }) {
      const parts = splitPath(path)
      const auth = hasAccountRoutes ? accounts : null
      for (const route of COMPILED) {
        if (!fits(route, parts)) continue
        const [name, id] = parts
        if (name === 'auth' && !auth) return undefined
        const collection = plan.collections.get(name ?? '')
        const isNamed = route.parts[0] === ':collection'
        if (isNamed && (!collection || route.isIn?.(collection) === false)) continue
        // `fits` and the two lines above ensure that what the path names exists.
        return { allow: route.allow, methods: route.methods, place: { collection, id, auth } as Place }
      }
      return undefined
    },
    judgeBody(endpoint, body) {
      return validators.get(endpoint)?.(body) ?? []
    },
    accountPaths: accounts
      ? ROUTES.filter(({ path, isOpen }) => path.startsWith('/auth/') && isOpen?.(accounts) !== false).map(
          ({ path }) => path,
        )
      : [],
  }
}

/**
 * The decoded parts of a path; `undefined` for a part that cannot be decoded. A slash at the end is ignored.
 */
function splitPath(path: string): readonly (string | undefined)[] {
  const parts = path.split('/').slice(1)
  if (parts.length > 1 && parts[0] !== '' && parts.at(-1) === '') parts.pop()
  return parts.length === 0 ? [''] : parts.map(decodePart)
}

const fits = ({ parts }: CompiledRoute, found: readonly (string | undefined)[]): boolean =>
  parts.length === found.length &&
  parts.every((part, i) => (part[0] === ':' ? !!found[i] : part === found[i]))
