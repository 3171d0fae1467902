import type { AuthPlan, Collection } from '../config/plan.js'
import { type ParameterName, parseQueryString, type RawQuery } from '../query/query-string.js'
import { endAllSessions, endSession, showAccount } from '../service/accounts/account.js'
import { type LoginOrigin, login } from '../service/accounts/login.js'
import { authorizeRegistration, register } from '../service/accounts/register.js'
import {
  authorizeClaim,
  authorizeCreate,
  authorizeList,
  authorizeRead,
  authorizeWrite,
  denied,
  notFound,
} from '../service/authorize.js'
import type { RequestScope, ServiceContext } from '../service/context.js'
import { listOperations } from '../service/list-operations.js'
import {
  countDocuments,
  listDocuments,
  type Page,
  readDocument,
  readExpanded,
  understandQuery,
} from '../service/read/list-documents.js'
import type { TextStream } from '../service/read/text-stream.js'
import { createBulk } from '../service/write/create-bulk.js'
import { createClaimed, createDocument } from '../service/write/create-document.js'
import { deleteDocument } from '../service/write/delete-document.js'
import { refuseUnauthorized, type Target, updateDocument } from '../service/write/update-document.js'
import type { Written } from '../service/write/written.js'
import type { JsonObject } from '../types.js'
import type { Answer, IncomingRequest } from './answer.js'
import { checkMediaType, parseInTurn } from './body.js'
import { etagOfText, expectsNothing, isKnown, readExpectation } from './etag.js'
import type { Identity } from './identify.js'
import { ACCOUNT_ROUTES, type AccountRoute, type Method, type Route } from './router.js'

/** One request on its way through an operation. */
export interface Exchange {
  readonly context: ServiceContext
  readonly scope: RequestScope
  readonly incoming: IncomingRequest
  readonly identity: Identity
  /** The query string, without the question mark. */
  readonly query: string
  /** What stands before the service's own paths. */
  readonly prefix: string
  /** Only JSON types count as JSON. */
  readonly onlyJson: boolean
  readonly origin: LoginOrigin
  readonly hasAccountRoutes: boolean
}

const JSON_TYPE = { 'content-type': 'application/json' } as const

/** An answer with a secret in it, or for one caller only. */
export const NO_STORE = { 'cache-control': 'no-store' } as const

const text = (status: number, body: string | TextStream, headers: Answer['headers'] = {}): Answer => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body,
})

const json = (status: number, value: unknown, headers?: Answer['headers']): Answer =>
  text(status, JSON.stringify(value), headers)

const readQuery = ({ context, query }: Exchange, ...allowed: ParameterName[]): RawQuery =>
  parseQueryString(query, allowed, context.plan.limits)

/** The body, once nothing but the body can refuse the request: query 400 · media type 415 · size 413 · JSON 400. */
async function readBody(exchange: Exchange): Promise<JsonObject> {
  const { context, incoming, scope, onlyJson } = exchange
  readQuery(exchange)
  checkMediaType(incoming.header('content-type'), incoming.header('content-encoding'), { onlyJson })
  scope.enter('body')
  const bytes = await incoming.readBody(context.plan.limits.bodyBytes, scope.signal)
  // It has arrived: what is waited for from here on is the service.
  scope.enter('read')
  return parseInTurn(bytes, () => scope.signal)
}

/** Performs what a route and a method ask for, in the order of faults of CONTRACT.md §2. `method` is allowed there. */
export async function perform(exchange: Exchange, route: Route, method: Method): Promise<Answer> {
  const { context, scope, identity } = exchange
  const { caller } = identity
  switch (route.kind) {
    case 'collection': {
      const { collection } = route
      if (method === 'POST') {
        const rules = authorizeCreate(context, collection, caller)
        const body = await readBody(exchange)
        const written = await createDocument(context, scope, { collection, caller, rules }, body)
        return created(exchange, collection, written)
      }
      const access = authorizeList(context, collection, caller)
      const raw = readQuery(exchange, 'q', 'sort', 'skip', 'after', 'limit', 'total', 'project', 'expand')
      const query = understandQuery(context, access, raw)
      const page = await listDocuments(context, scope, { collection, caller, access, query })
      return text(200, page.json, pageHeaders(exchange, collection.name, page))
    }
    case 'bulk': {
      const { collection } = route
      const rules = authorizeCreate(context, collection, caller)
      const { documents, ignored } = await createBulk(
        context,
        scope,
        { collection, caller, rules },
        await readBody(exchange),
      )
      const texts = documents.map((document) => document.text).join()
      return text(201, `{"documents":[${texts}]}`, tellIgnored(ignored))
    }
    case 'count': {
      const access = authorizeList(context, route.collection, caller)
      const query = understandQuery(context, access, readQuery(exchange, 'q'))
      return json(200, { total: await countDocuments(context, scope, route.collection, access, query) })
    }
    case 'document':
      if (method === 'GET') return readOne(exchange, route)
      return method === 'PUT' && expectsNothing(exchange.incoming)
        ? createOne(exchange, route)
        : writeOne(exchange, route, method)
    case 'root':
      readQuery(exchange)
      return json(200, describeRoot(exchange))
    default:
      return performAccount(exchange, route.kind, accountsOf(context))
  }
}

/** What there is for this caller (CONTRACT.md §7). */
function describeRoot({ context, identity, prefix, hasAccountRoutes }: Exchange): JsonObject {
  const collections = listOperations(context, identity.caller).map(({ name, operations }) => ({
    name,
    href: `${prefix}/${name}`,
    operations,
  }))
  if (!hasAccountRoutes) return { collections }
  const open = ACCOUNT_ROUTES.filter((route) => route !== 'register' || accountsOf(context).register)
  return { collections, auth: open.map((route) => `${prefix}/auth/${route}`) }
}

/** `X-Total-Count`, and the `Link` (RFC 8288) to the next page: by key, by `skip` where that would be too long. */
function pageHeaders(
  { context, prefix, query }: Exchange,
  name: string,
  { next, total }: Page,
): Answer['headers'] {
  const headers = total === undefined ? {} : { 'x-total-count': String(total) }
  if (!next) return headers
  // What a client need not encode in a query could end the target of a link.
  const written = query.replace(/["<>\\^`{|}]/g, encodeURIComponent)
  const others = written
    .split('&')
    .filter((part) => part !== '' && !/^(?:after|skip)=/.test(decodeURIComponent(part)))
  const target = [`after=${next.cursor}`, `skip=${next.skip}`]
    .map((place) => [...others, place].join('&'))
    .find((parameters) => parameters.length <= context.plan.limits.queryBytes)
  return target === undefined ? headers : { ...headers, link: `<${prefix}/${name}?${target}>; rel="next"` }
}

type DocumentRoute = Extract<Route, { readonly kind: 'document' }>

async function readOne(exchange: Exchange, { collection, id }: DocumentRoute): Promise<Answer> {
  const { context, scope, identity, incoming } = exchange
  const access = authorizeRead(context, collection, identity.caller)
  const { caller } = identity
  const query = understandQuery(context, access, readQuery(exchange, 'project', 'expand'))
  const reading = { collection, caller, access, query }
  // What lies in other documents may change without this one: there is no ETag.
  if (query.expand.length > 0) {
    const expanded = await readExpanded(context, scope, reading, id)
    if (expanded === undefined) throw notFound()
    return text(200, expanded)
  }
  const found = await readDocument(context, scope, reading, id)
  if (!found) throw notFound()
  const etag = etagOfText(found.whole)
  if (isKnown(incoming, etag)) return { status: 304, headers: { etag }, body: null }
  return text(200, found.asked, { etag })
}

/** What was taken from a body, where anything was: a list of strings (RFC 9651 §3.1), which are all names. */
const tellIgnored = (names: readonly string[]): Answer['headers'] =>
  names.length > 0 ? { 'ignored-properties': names.map((name) => `"${name}"`).join(', ') } : {}

const created = ({ prefix }: Exchange, { name }: Collection, written: Written): Answer =>
  text(201, written.text, {
    location: `${prefix}/${name}/${written._id}`,
    etag: etagOfText(written.text),
    ...tellIgnored(written.ignored),
  })

/** Creates under the `_id` of the path. Only the right to create counts: whether the `_id` exists is seen later. */
async function createOne(exchange: Exchange, { collection, id }: DocumentRoute): Promise<Answer> {
  const { context, scope, identity, incoming } = exchange
  const { caller } = identity
  const rules = authorizeClaim(context, collection, caller)
  const claim = { id, isExpected: incoming.header('if-match') === undefined }
  const body = await readBody(exchange)
  const written = await createClaimed(context, scope, { collection, caller, rules }, claim, body)
  return created(exchange, collection, written)
}

async function writeOne(
  exchange: Exchange,
  { collection, id }: DocumentRoute,
  method: Exclude<Method, 'GET'>,
): Promise<Answer> {
  const { context, scope, identity, incoming } = exchange
  const { caller, session } = identity
  const operation = method === 'DELETE' ? 'delete' : 'update'
  const rules = authorizeWrite(collection, operation, caller)
  const target: Target = { collection, id, caller, session, rules, isExpected: () => true }
  if (rules.length === 0) return refuseUnauthorized(context, scope, target)
  const expecting = { ...target, isExpected: readExpectation(incoming) }
  if (method === 'DELETE') {
    readQuery(exchange)
    await deleteDocument(context, scope, expecting)
    return { status: 204, headers: {}, body: null }
  }
  const body = await readBody(exchange)
  const mode = method === 'PUT' ? 'put' : 'patch'
  const written = await updateDocument(context, scope, expecting, mode, body)
  return text(200, written.text, { etag: etagOfText(written.text), ...tellIgnored(written.ignored) })
}

function accountsOf({ plan }: ServiceContext): AuthPlan {
  if (!plan.auth) throw new Error('a route to accounts that are not kept')
  return plan.auth
}

async function performAccount(exchange: Exchange, kind: AccountRoute, auth: AuthPlan): Promise<Answer> {
  const { context, scope, identity } = exchange
  const { session } = identity
  switch (kind) {
    case 'register': {
      authorizeRegistration(auth)
      const { account, ignored } = await register(context, scope, auth, await readBody(exchange))
      return json(201, account, { ...NO_STORE, ...tellIgnored(ignored) })
    }
    case 'login': {
      const body = await readBody(exchange)
      return json(200, await login(context, scope, auth, body, exchange.origin), NO_STORE)
    }
    case 'logout':
    case 'logout-all': {
      if (!session) throw denied(null)
      readQuery(exchange)
      if (kind === 'logout') await endSession(context, scope, session.id)
      else await endAllSessions(context, scope, auth, session)
      return { status: 204, headers: {}, body: null }
    }
    case 'me': {
      if (!session) throw denied(null)
      readQuery(exchange)
      return json(200, showAccount(context, auth, session.user))
    }
    default:
      return kind satisfies never
  }
}
