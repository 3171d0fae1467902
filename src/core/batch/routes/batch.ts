import type { Collection, ServicePlan } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { type EnvelopeSchema, envelope } from '../../fields/schema/envelope.js'
import { MAX_FAULTS, MAX_PATH } from '../../fields/schema/validator.js'
import { type Answer, answerText, isStream } from '../../http/answer.js'
import { findProto, forbidProto } from '../../http/body.js'
import { isTags } from '../../http/etag.js'
import { create } from '../../http/routes/collection.js'
import { patch, put, read, remove } from '../../http/routes/document.js'
import { decodePart } from '../../http/routes/find-route.js'
import type { Endpoint, Mount } from '../../http/routes/route.js'
import { isObject } from '../../json/own-properties.js'
import { lowerUuid } from '../../json/uuid.js'
import { whenReady } from '../../promises.js'
import { NO_PARAMETERS } from '../../query/query-string.js'
import type { Call, CallRequest, Service } from '../../request/call.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { runBatch } from '../run-batch.js'

/** The endpoint that serves the same requests outside a batch, and the parts that an operation may have. */
interface BatchMethod {
  readonly endpoint: Endpoint<'collection' | 'id'>
  readonly names: 'collection' | 'document'
  readonly takesBody: boolean
  readonly takesConditions: boolean
}

const METHODS = {
  GET: { endpoint: read, names: 'document', takesBody: false, takesConditions: true },
  POST: { endpoint: create, names: 'collection', takesBody: true, takesConditions: false },
  PUT: { endpoint: put, names: 'document', takesBody: true, takesConditions: true },
  PATCH: { endpoint: patch, names: 'document', takesBody: true, takesConditions: true },
  DELETE: { endpoint: remove, names: 'document', takesBody: false, takesConditions: true },
} as const satisfies { readonly [method: string]: BatchMethod }

type MethodName = keyof typeof METHODS

/** The operation of a batch: a method on a path, with its conditions and its body. */
export interface BatchOperation {
  readonly method: MethodName
  readonly collection: Collection
  /** Empty for a POST. */
  readonly id: string
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly body: JsonObject
}

/** The JSON Schema of an operation. */
const OPERATION_SCHEMA = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: Object.keys(METHODS) },
    path: { type: 'string' },
    ifMatch: { type: 'string' },
    ifNoneMatch: { type: 'string' },
    body: { type: 'object' },
  },
  required: ['method', 'path'],
  additionalProperties: false,
} as const satisfies EnvelopeSchema

/** Returns the validation errors of operations that their schema cannot express (CONTRACT.md §2, "Batch"). */
function judgeOperations({ operations }: JsonObject, service: Service): readonly Fault[] {
  const faults: Fault[] = []
  if (!Array.isArray(operations) || operations.length > service.plan.limits.bulk) return faults
  for (const [i, operation] of operations.entries()) {
    if (faults.length >= MAX_FAULTS) break
    if (!isObject(operation)) continue
    for (const fault of judgeOperation(operation, service))
      faults.push({ ...fault, path: `/operations/${i}${fault.path}`.slice(0, MAX_PATH) })
  }
  return faults
}

function judgeOperation(operation: JsonObject, service: Service): readonly Fault[] {
  const { method, path, body } = operation
  const known = isMethod(method) ? METHODS[method] : undefined
  const faults: Fault[] = []
  if (typeof path === 'string') faults.push(...judgePath(path, known?.names, service))
  if (known?.takesBody && body === undefined) faults.push(fault('/body', 'required', 'is required'))
  if (known && !known.takesBody && body !== undefined)
    faults.push(fault('/body', 'not_allowed', `is not allowed with ${String(method)}`))
  for (const name of ['ifMatch', 'ifNoneMatch'] as const) {
    const text = operation[name]
    if (text === undefined) continue
    if (known && !known.takesConditions)
      faults.push(fault(`/${name}`, 'not_allowed', 'is not allowed with POST'))
    else if (typeof text === 'string' && !isTags(text))
      faults.push(fault(`/${name}`, 'wrong_format', 'must contain entity tags, or be *'))
  }
  const proto = findProto(body)
  if (proto !== undefined) faults.push(forbidProto(`/body${proto}`))
  return faults
}

const fault = (path: string, code: string, message: string): Fault => ({ path, code, message })

const isMethod = (method: unknown): method is MethodName =>
  typeof method === 'string' && Object.hasOwn(METHODS, method)

const FORMS = 'must be /<collection> with POST, or /<collection>/<id> with another method'

function judgePath(
  path: string,
  names: BatchMethod['names'] | undefined,
  { plan }: Service,
): readonly Fault[] {
  const parts = readPath(path, plan)
  if (!parts) return [fault('/path', 'wrong_format', FORMS)]
  const [collection, id] = parts
  if (!plan.collections.has(collection)) {
    // The message suggests no collections, because their names are not public.
    return [fault('/path', 'not_allowed', 'must begin with the name of a collection')]
  }
  if (id !== undefined && NO_IDS.includes(id))
    return [
      fault(
        '/path',
        'not_allowed',
        `must not end in /${id}: an operation of a batch concerns a single document`,
      ),
    ]
  const found = id === undefined ? 'collection' : 'document'
  return names === undefined || names === found ? [] : [fault('/path', 'not_allowed', FORMS)]
}

/** Names of routes that are in the position of an id in paths. */
const NO_IDS: readonly string[] = ['aggregate', 'bulk', 'count', 'changes']

/**
 * The maximum number of parts of a path that are read: the empty part before the first slash, a collection, an id, and
 * one further part, which is an error.
 */
const MAX_PARTS = 4

/** A path of a collection and an id without encoded characters. */
const PLAIN = /^\/([\w-]+)\/([\w-]+)$/

/** Splits a path into a collection and an optional id, both decoded once. Returns `undefined` for any other path. */
function readPath(
  path: string,
  { collections }: ServicePlan,
): readonly [collection: string, id?: string] | undefined {
  // Fast path: the name of a collection needs no decoding.
  const name = path.slice(1)
  if (path.startsWith('/') && collections.has(name)) return [name]
  const [, plain, named] = PLAIN.exec(path) ?? []
  if (plain !== undefined && named !== undefined) return [plain, named]
  const [first, ...written] = (path.endsWith('/') ? path.slice(0, -1) : path).split('/', MAX_PARTS)
  if (first !== '' || /[?#]/.test(path)) return undefined
  const parts = written.map(decodePart)
  const areNames = parts.every((part) => part && part !== '.' && part !== '..' && !part.includes('/'))
  const [collection, id, ...rest] = parts
  if (!areNames || collection === undefined || rest.length > 0) return undefined
  return id === undefined ? [collection] : [collection, id]
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Reads an operation that has no validation errors. */
export function readOperation(operation: JsonObject, { plan }: Service): BatchOperation {
  const { method, path, body, ifMatch, ifNoneMatch } = operation
  const [name = '', id = ''] = readPath(String(path), plan) ?? []
  const collection = plan.collections.get(name)
  if (!collection || !isMethod(method)) throw new Error('an operation was not checked')
  return {
    method,
    collection,
    id: lowerUuid(id),
    ifMatch: text(ifMatch),
    ifNoneMatch: text(ifNoneMatch),
    body: isObject(body) ? body : {},
  }
}

/** `POST /_batch` (CONTRACT.md §2, "Batch"). */
export const batch: Endpoint = {
  mayIgnore: true,
  // Each document is three levels deep: in the body, in `operations`, and in an operation.
  depth: 3,
  envelope: ({ plan }) =>
    envelope({
      operations: { type: 'array', minItems: 1, maxItems: plan.limits.bulk, items: OPERATION_SCHEMA },
    }),
  judge: judgeOperations,
  async run(call) {
    const { operations } = await call.request.readBody()
    const { prefix } = call.request
    // The envelope has checked that these are objects.
    const read = (operations as readonly JsonObject[]).map((one) => readOperation(one, call.service))
    const results = await runBatch(
      call,
      read.map((operation) => ({
        writesTo: operation.method === 'GET' ? null : operation.collection.name,
        run: (own) => answerOperation(own, prefix, operation),
      })),
    )
    // The text is encoded only once, when it is sent.
    const all = results.reduce((text, result) => `${text},${result}`)
    return answerText(200, `{"results":[${all}]}`)
  },
}

const answerOperation = (call: Call, prefix: string, operation: BatchOperation): MaybePromise<string> =>
  whenReady(runOperation(call, prefix, operation), printResult)

/** Runs an operation with the endpoint that serves it outside a batch. */
export const runOperation = (call: Call, prefix: string, operation: BatchOperation): MaybePromise<Answer> =>
  METHODS[operation.method].endpoint.run(call.answering(requestOf(prefix, operation)), operation, NO_MOUNT)

/** Serializes the answer to an operation as a part of the response to the batch. */
function printResult({ status, headers, body }: Answer): string {
  if (isStream(body)) throw new Error('the answer to an operation is not a stream')
  const { etag, location, 'ignored-properties': ignored } = headers
  const text = typeof body === 'string' || body === null ? body : decoder.decode(body)
  let result = `{"status":${status}`
  // In an entity tag, only the quotes need escapes. A location needs none (`joinPrefix`).
  if (etag !== undefined) result += `,"etag":"\\${etag.slice(0, -1)}\\""`
  if (location !== undefined) result += `,"location":"${location}"`
  // The header is a list of quoted names. It is also valid JSON, because names need no escapes.
  if (ignored !== undefined) result += `,"ignored":[${ignored}]`
  if (text !== null) result += `,"body":${text}`
  return `${result}}`
}

const decoder = new TextDecoder()

/** An operation depends on no mount. */
const NO_MOUNT: Mount = {
  accountPaths: [],
  hasAccountRoutes: false,
  streams: undefined,
  describe: undefined,
  health: undefined,
}

/** Returns an operation in the form of a request to its endpoint: without a query, with its own body and conditions. */
const requestOf = (prefix: string, { ifMatch, ifNoneMatch, body }: BatchOperation): CallRequest => ({
  prefix,
  query: '',
  parameters: NO_PARAMETERS,
  header: (name) => (name === 'if-match' ? ifMatch : name === 'if-none-match' ? ifNoneMatch : undefined),
  client: () => undefined,
  readBody: () => body,
})
