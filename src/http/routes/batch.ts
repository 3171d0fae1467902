import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { parseQueryString } from '../../query/query-string.js'
import type { RawQuery } from '../../query/raw-query.js'
import { envelope } from '../../schema/envelope.js'
import { runBatch } from '../../service/batch/run-batch.js'
import type { Call } from '../../service/call.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { type Answer, isStream } from '../answer.js'
import { answerText } from './answers.js'
import { type BatchOperation, judgeOperations, OPERATION_SCHEMA, readOperation } from './batch-operations.js'
import { create } from './collection.js'
import { patch, put, read, remove } from './document.js'
import type { Endpoint, Exchange } from './route.js'

/** The endpoints that run operations: those that would answer each of them alone. */
const ENDPOINTS: { readonly [method in BatchOperation['method']]: Endpoint<'collection' | 'id'> } = {
  GET: read,
  POST: create,
  PUT: put,
  PATCH: patch,
  DELETE: remove,
}

/** `POST /_batch` (CONTRACT.md §2, "Batch"). */
export const batch: Endpoint = {
  mayIgnore: true,
  // Levels: the body, `operations`, an operation.
  depth: 3,
  envelope: ({ plan }) =>
    envelope({
      operations: { type: 'array', minItems: 1, maxItems: plan.limits.bulk, items: OPERATION_SCHEMA },
    }),
  judge: judgeOperations,
  async run(exchange) {
    const { operations } = await exchange.readBody()
    const { call, prefix } = exchange
    // The envelope has checked that these are objects.
    const read = (operations as readonly JsonObject[]).map((one) => readOperation(one, call.service))
    const results = await runBatch(
      call,
      read.map((operation) => (own) => answerOperation(own, prefix, operation)),
    )
    // The joined text is encoded once, when it is sent.
    const all = results.reduce((text, result) => `${text},${result}`)
    return answerText(200, `{"results":[${all}]}`)
  },
}

const answerOperation = (call: Call, prefix: string, operation: BatchOperation): MaybePromise<string> =>
  whenReady(runOperation(call, prefix, operation), printResult)

/** Runs an operation by the endpoint that would answer it alone. */
export const runOperation = (call: Call, prefix: string, operation: BatchOperation): MaybePromise<Answer> =>
  ENDPOINTS[operation.method].run(new OperationExchange(call, prefix, operation), operation)

/** An answer as a part of the batch's response. */
function printResult({ status, headers, body }: Answer): string {
  if (isStream(body)) throw new Error('the answer to an operation is not a stream')
  const { etag, location, 'ignored-properties': ignored } = headers
  const text = typeof body === 'string' || body === null ? body : decoder.decode(body)
  let result = `{"status":${status}`
  // In a tag only the quotes need escapes, in a location nothing does (`joinPrefix`).
  if (etag !== undefined) result += `,"etag":"\\${etag.slice(0, -1)}\\""`
  if (location !== undefined) result += `,"location":"${location}"`
  // The header's list of strings is also valid JSON: names need no escapes.
  if (ignored !== undefined) result += `,"ignored":[${ignored}]`
  if (text !== null) result += `,"body":${text}`
  return `${result}}`
}

const decoder = new TextDecoder()

const NO_PARAMETERS: readonly never[] = []

/** An operation as its endpoint sees it: without a query, with its own body and conditions. */
class OperationExchange implements Exchange {
  readonly call: Call
  readonly prefix: string
  readonly accountPaths: readonly string[] = NO_PARAMETERS
  readonly #operation: BatchOperation

  constructor(call: Call, prefix: string, operation: BatchOperation) {
    this.call = call
    this.prefix = prefix
    this.#operation = operation
  }

  header(name: string): string | undefined {
    const { ifMatch, ifNoneMatch } = this.#operation
    return name === 'if-match' ? ifMatch : name === 'if-none-match' ? ifNoneMatch : undefined
  }

  client(): undefined {
    return undefined
  }

  readQuery(access: ReadAccess): LinkedQuery {
    return this.call.service.readQuery('', NO_PARAMETERS, access, this.call)
  }

  readRaw(): RawQuery {
    return parseQueryString('', NO_PARAMETERS, this.call.service.plan.limits)
  }

  refuseQuery(): void {}

  readBody(): JsonObject {
    return this.#operation.body
  }
}
