import type { AuthPlan, Collection } from '../../core/config/plan.js'
import type { ErrorCode } from '../../core/errors.js'
import { nameOperation } from '../../core/http/observe.js'
import { isIn } from '../../core/http/routes/find-route.js'
import type { Endpoint, Route, NamedByPath as RoutePlace } from '../../core/http/routes/route.js'
import { ROUTES } from '../../core/http/routes/table.js'
import type { Bytes } from '../../core/json/bytes.js'
import type { JsonSchema } from '../../core/json/json-schema.js'
import { whenReady } from '../../core/promises.js'
import type { RightsHolder } from '../../core/request/authorize.js'
import { forEachSliced, inOneSlice, type Slice, type Slices, stepsToWrite } from '../../core/slices.js'
import type { MaybePromise } from '../../core/types.js'
import type { ComponentKind } from './components.js'
import { OF_ACCOUNTS } from './operations/accounts.js'
import { OF_COLLECTIONS } from './operations/collections.js'
import type { DescribeOperation, OperationDescription, OperationPlace } from './operations/operation.js'
import { OF_SERVICE } from './operations/service.js'
import { referToParameters } from './parameters.js'
import { ALWAYS, describeProblems, OF_ALL_WRITES, WITH_BODY } from './problems.js'
import { createScope, type DescribedService, type DescriptionScope, findCookie } from './scope.js'

/** An OpenAPI document. */
export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  /** Empty if the service has neither accounts nor a host that identifies callers; otherwise absent. */
  readonly security?: readonly []
  readonly paths: { readonly [path: string]: { readonly [method: string]: JsonSchema } }
  readonly components: { readonly [kind: string]: { readonly [name: string]: JsonSchema } }
}

/** The members of a document except `paths` and `components`. */
type DocumentHead = Omit<ApiDocument, 'paths' | 'components'>

/** Receives each path and component as soon as it is created, so that a large document is never held as one object. */
interface TakeParts {
  readonly path: (path: string, methods: JsonSchema) => void
  readonly component: (kind: ComponentKind | 'securitySchemes', name: string, component: JsonSchema) => void
}

const KINDS: readonly ComponentKind[] = ['schemas', 'parameters', 'responses', 'headers']

/** Describes a service to a reader (CONTRACT.md §8, "OpenAPI"). Leaves out parts to which the reader has no right. */
export function describeService(service: DescribedService, reader: RightsHolder, prefix = ''): ApiDocument {
  const paths: { [path: string]: ApiDocument['paths'][string] } = {}
  const components: { [kind: string]: { [name: string]: JsonSchema } } = Object.fromEntries(
    KINDS.map((kind) => [kind, {}]),
  )
  const parts: TakeParts = {
    path(path, methods) {
      paths[path] = methods as ApiDocument['paths'][string]
    },
    component(kind, name, component) {
      const named = components[kind] ?? {}
      named[name] = component
      components[kind] = named
    },
  }
  const head = inOneSlice((slices) => describeInSlices(service, reader, { prefix, parts }, slices))
  return { ...head, paths, components }
}

function describeInSlices(
  service: DescribedService,
  reader: RightsHolder,
  { prefix, parts }: { readonly prefix: string; readonly parts: TakeParts },
  slices: Slices,
): MaybePromise<DocumentHead> {
  const scope = createScope(service, reader)
  const describing = forEachSliced(slices, pathsOf(service), ([path, spots]) => {
    const described = spots.flatMap((spot) => describeSpot(scope, spot))
    const collection = spots[0]?.place.collection
    slices.left -= collection ? DESCRIBE * collection.paths.size : NAME * service.plan.collections.size
    if (described.length === 0) return undefined
    const methods = Object.fromEntries(described)
    parts.path(path, methods)
    return scope.components.makeFor(methods, parts.component, slices)
  })
  return whenReady(describing, () => describeHead(service, prefix, parts))
}

function describeHead(service: DescribedService, prefix: string, parts: TakeParts): DocumentHead {
  const securitySchemes = Object.entries(describeSecurity(service))
  for (const [name, scheme] of securitySchemes) parts.component('securitySchemes', name, scheme)
  return {
    openapi: '3.1.0',
    info: { title: 'Collections', version: '1', description: DESCRIPTION },
    servers: [{ url: prefix === '' ? '/' : prefix }],
    // States that the service has no accounts; without this, linters report a missing security scheme.
    ...(securitySchemes.length > 0 ? {} : { security: [] }),
  }
}

/** The costs, in steps (see `Slice`), of describing one field path, and of naming one collection. */
const DESCRIBE = 400
const NAME = 20

const encoder = new TextEncoder()

/** The minimum number of characters of a piece. Smaller pieces would cost more memory than their contents. */
const PIECE = 32 * 1024

/** Collects text as bytes, in pieces: text that is long enough is encoded immediately. */
class Pieces {
  readonly #done: Bytes[] = []
  #text: string

  constructor(text: string) {
    this.#text = text
  }

  add(text: string): void {
    this.#text += text
    if (this.#text.length < PIECE) return
    this.#done.push(encoder.encode(this.#text))
    this.#text = ''
  }

  end(): readonly Bytes[] {
    return [...this.#done, encoder.encode(this.#text)]
  }
}

/** Writes a JSON object member by member. */
class WrittenObject {
  readonly #slice: Slice
  readonly #pieces = new Pieces('{')
  #separator = ''

  constructor(slice: Slice) {
    this.#slice = slice
  }

  add(name: string, value: JsonSchema): void {
    const text = `${this.#separator}${JSON.stringify(name)}:${JSON.stringify(value)}`
    this.#slice.left -= stepsToWrite(text.length)
    this.#separator = ','
    this.#pieces.add(text)
  }

  end(): readonly Bytes[] {
    this.#pieces.add('}')
    return this.#pieces.end()
  }
}

/** Writes the document of `describeService` as JSON in UTF-8, in pieces. Equal documents have the same pieces. */
export function writeDescription(
  service: DescribedService,
  reader: RightsHolder,
  prefix: string,
  slices: Slices,
): MaybePromise<readonly Bytes[]> {
  const paths = new WrittenObject(slices)
  const kinds = new Map<string, WrittenObject>(KINDS.map((kind) => [kind, new WrittenObject(slices)]))
  const parts: TakeParts = {
    path: (path, methods) => paths.add(path, methods),
    component(kind, name, component) {
      const written = kinds.get(kind) ?? new WrittenObject(slices)
      kinds.set(kind, written)
      written.add(name, component)
    },
  }
  return whenReady(describeInSlices(service, reader, { prefix, parts }, slices), (head) => [
    encoder.encode(`${JSON.stringify(head).slice(0, -1)},"paths":`),
    ...paths.end(),
    ...[...kinds].flatMap(([kind, written], i) => [
      encoder.encode(`${i === 0 ? ',"components":{' : ','}${JSON.stringify(kind)}:`),
      ...written.end(),
    ]),
    encoder.encode('}}'),
  ])
}

const DESCRIPTION = `The operations that this caller may use. Request and response bodies are JSON. Errors are \`application/problem+json\` with a stable \`code\`.

**Queries.** A document must match all conditions. \`q[f]=v\` is short for \`q[f][$eq]=v\`. If \`q[f]\` or \`$regex\` is repeated, one of the values must match; if \`$ne\` is repeated, the field must equal none of the values. \`q[$or][0][f]=v&q[$or][1][g]=w\` joins groups, at least one of which must match. A field that is hidden in a document counts as missing there. Only reserved characters need percent-encoding.

**Pages.** If a \`limit\` of at most 1,000 is given and more documents follow, the response has a header for the next page: \`Next-Cursor\` is the value of \`after\`, which replaces \`skip\`; or \`Next-Skip\` is the value of \`skip\`. The rest of the query stays the same.

**Updates.** \`If-Match\` with the \`ETag\` of the document that was read prevents lost updates.`

type DescribedPath = { readonly collection?: Collection; readonly auth: AuthPlan | null }

/** A method of a described path. */
export interface Spot {
  readonly method: string
  /** The path as the document shows it, such as `/notes/{id}`. */
  readonly path: string
  /** The path in the table of routes, such as `/:collection/:id`. */
  readonly form: string
  readonly endpoint: Endpoint<keyof RoutePlace>
  readonly place: DescribedPath
}

/** Returns the paths of a service in the order of the table of routes, each with its methods. */
export const pathsOf = (
  service: DescribedService,
): readonly (readonly [path: string, spots: readonly Spot[]])[] =>
  ROUTES.filter((route) => isThere(route, service)).flatMap((route) =>
    placesOf(route, service).map(([path, place]) => [path, spotsOf(route, path, place)]),
  )

const spotsOf = (route: Route, path: string, place: DescribedPath): readonly Spot[] =>
  Object.entries(route.methods).map(([method, endpoint]) => ({
    method,
    path,
    form: route.path,
    endpoint,
    place,
  }))

/** Whether the service has a route, and no setting closes the route. */
function isThere(route: Route, service: DescribedService): boolean {
  const accounts = service.hasAccountRoutes ? service.accounts : null
  const isOpen = accounts === null || route.isOpen?.(accounts) !== false
  // Only a service with the option `openapi` is described. Probes are no operations of a caller.
  return isOpen && isIn(route, { ...service, accounts, isDescribed: true, hasHealth: false })
}

/** Returns the described paths of a route: one path for each collection that has the route. */
function placesOf(
  { path, isIn: has }: Route,
  { plan, accounts }: DescribedService,
): readonly (readonly [path: string, place: DescribedPath])[] {
  const shown = path.replace(':id', '{id}')
  if (!path.startsWith('/:collection')) return [[shown, { auth: accounts }]]
  return [...plan.collections.values()]
    .filter((collection) => has?.(collection) !== false)
    .map((collection) => [shown.replace(':collection', collection.name), { collection, auth: accounts }])
}

function describeSpot(
  scope: DescriptionScope,
  spot: Spot,
): readonly (readonly [method: string, operation: JsonSchema])[] {
  const { method, path, form, endpoint, place } = spot
  const operation = findOperation(scope, spot)
  if (!operation) return []
  const { collection } = place
  const name = nameOperation(method, form)
  const query = collection ? referToParameters(scope, collection, endpoint.parameters ?? []) : []
  const inPath = path.includes('{id}') ? [ID] : []
  const parameters = [...inPath, ...query, ...(operation.parameters ?? [])]
  const described: JsonSchema = {
    tags: [collection?.name ?? (form.startsWith('/auth/') ? 'auth' : 'service')],
    operationId: collection ? `${name}_${collection.name}` : name,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: operation.body } },
          },
        }
      : {}),
    responses: answersOf(scope, operation, spot),
    ...askFor(operation, scope.service),
  }
  return [[method.toLowerCase(), described]]
}

/** Describes the possible responses to a reader, by status; `undefined` if the reader has no right to the operation. */
export function describeResponses(scope: DescriptionScope, spot: Spot): JsonSchema | undefined {
  const operation = findOperation(scope, spot)
  return operation && answersOf(scope, operation, spot)
}

/** Describes an operation. The cast is safe, because `collection` and `auth` are read only if the path has them. */
const findOperation = (
  scope: DescriptionScope,
  { method, form, endpoint, place }: Spot,
): OperationDescription | undefined =>
  descriptionOf(form, nameOperation(method, form))(scope, { endpoint, ...place } as OperationPlace)

function answersOf(
  scope: DescriptionScope,
  operation: OperationDescription,
  { method, endpoint }: Spot,
): JsonSchema {
  const mayBeCrossSite = findCookie(scope.service) && method !== 'GET' && !endpoint.ignoresCookie
  const problems: readonly ErrorCode[] = [
    ...ALWAYS,
    ...(scope.service.hasAccountRoutes ? (['invalid_token'] as const) : []),
    ...(mayBeCrossSite ? (['cross_site'] as const) : []),
    ...(operation.body ? WITH_BODY : []),
    ...(operation.problems ?? []),
  ]
  // A hook that may reject a write may also add other writes to it, so all errors of writes are possible.
  const refused = problems.includes('refused') && scope.service.hasHooks ? OF_ALL_WRITES : []
  return { ...operation.answers, ...describeProblems(scope, [...problems, ...refused]) }
}

const ID: JsonSchema = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }

/** Finds the function that describes an operation of the table of routes. Throws if there is none. */
function descriptionOf(form: string, name: string): DescribeOperation {
  const table = form.startsWith('/:collection')
    ? OF_COLLECTIONS
    : form.startsWith('/auth/')
      ? OF_ACCOUNTS
      : OF_SERVICE
  const describe = table[name]
  if (!describe) throw new Error(`no description of ${name}`)
  return describe
}

const describeSecurity = (service: DescribedService): { readonly [name: string]: JsonSchema } => ({
  ...(service.hasAccountRoutes
    ? { session: { type: 'http', scheme: 'bearer', description: 'The token from a login.' } }
    : {}),
  ...describeCookie(service),
  ...(service.hasHost
    ? {
        host: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description:
            'The host of this service identifies callers. It may use something other than this header, such as a cookie.',
        },
      }
    : {}),
})

function describeCookie(service: DescribedService): { readonly [name: string]: JsonSchema } {
  const cookie = findCookie(service)
  const description = 'The token from a login whose response set this cookie.'
  return cookie ? { cookie: { type: 'apiKey', in: 'cookie', name: cookie.name, description } } : {}
}

/** The ways to send a token that the service issued. */
const OF_SESSIONS: readonly string[] = ['session', 'cookie']

function askFor({ asker }: OperationDescription, service: DescribedService): JsonSchema {
  const ways = Object.keys(describeSecurity(service))
    .filter((name) => asker !== 'session' || OF_SESSIONS.includes(name))
    .map((name) => ({ [name]: [] }))
  if (ways.length === 0) return {}
  return { security: asker === undefined ? [{}, ...ways] : ways }
}
