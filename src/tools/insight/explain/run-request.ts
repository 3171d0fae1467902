import { createMemoryAdapter } from '../../../adapters/memory/memory-adapter.js'
import { writeJson } from '../../../client/write-query.js'
import { assembleService } from '../../../core/create-service.js'
import { everything } from '../../../core/filter/filter.js'
import { isObject } from '../../../core/json/own-properties.js'
import type { Service } from '../../../core/request/call.js'
import type { ListQuery, StoredDocument } from '../../../core/storage.js'
import { renameStorage } from '../../../core/stored/names/renamed-storage.js'
import type { Hasher, Logger } from '../../../core/types/host.js'
import type { InsightOptions } from '../options.js'
import type { ExplainedAnswer, ExplainedRequest } from './explanation.js'
import { createRecorder, type RecordedOperation } from './recorder.js'

/** A request with a fixed time, so that it can be sent repeatedly. */
export type TimedRequest = Omit<ExplainedRequest, 'now'> & { readonly now: number }

/** A request with its response, and the decisions that led to it. */
export interface ExplainedRun {
  readonly request: TimedRequest
  readonly config: unknown
  readonly plan: Service['plan']
  readonly answer: ExplainedAnswer
  readonly operations: readonly RecordedOperation[]
  /** The documents that were stored before the request, by collection. */
  readonly stored: ReadonlyMap<string, readonly StoredDocument[]>
}

/**
 * Sends a request to a new service with this configuration and the documents of the request. The response is that of
 * `handler.as(caller)`. Throws `ConfigError`, and `ServiceError` for documents that cannot be stored.
 */
export async function runRequest(
  config: unknown,
  request: TimedRequest,
  { authenticate = false, production = false, hooks }: InsightOptions,
): Promise<ExplainedRun> {
  const recorder = createRecorder()
  const services: Service[] = []
  const adapter = createMemoryAdapter({ documents: request.documents ?? {} })
  const handler = assembleService(
    config,
    adapter,
    {
      production,
      hasher: NO_HASHER,
      now: () => request.now,
      deliver() {},
      ...(hooks ? { logger: OF_HOOKS, hooks: recorder.unheard(hooks) } : { logger: SILENT }),
      ...(authenticate ? { authenticate: () => null } : {}),
    },
    (service) => {
      services.push(service)
      return recorder.record(service)
    },
  )
  const [service] = services
  if (!service) throw new Error('the service was not assembled')
  try {
    await handler.ready()
    const renamed = renameStorage(adapter, service.plan.collections)
    const stored = new Map<string, readonly StoredDocument[]>()
    for (const name of Object.keys(request.documents ?? {}))
      stored.set(name, await renamed.list(name, EVERYTHING))
    const response = await handler.as(request.caller)(toRequest(request))
    const answer = await readAnswer(response)
    return { request, config, plan: service.plan, answer, operations: [...recorder.operations], stored }
  } finally {
    await handler.close()
  }
}

const EVERYTHING: ListQuery = { filter: everything, sort: [], skip: 0, limit: null }

const SILENT: Logger = { info() {}, warn() {}, error() {} }

/** A logger that prints errors to the console, because the response does not contain the error of a failed hook. */
const OF_HOOKS: Partial<Logger> = { info() {}, warn() {} }

/** Hashes nothing, because no response shows a hash, and no caller logs in. */
const NO_HASHER: Hasher = { hash: async () => 'hashed', verify: async () => false }

function toRequest({ method, path, body, headers }: TimedRequest): Request {
  const sent = new Headers(headers)
  if (body !== undefined && !sent.has('content-type')) sent.set('content-type', 'application/json')
  if (body !== undefined && /^(get|head)$/i.test(method))
    throw new TypeError(`a ${method} request must not have a body`)
  const text = typeof body === 'string' || body === undefined ? body : writeJson('body', body)
  return new Request(`http://localhost${path}`, {
    method,
    headers: sent,
    ...(text === undefined ? {} : { body: text }),
  })
}

async function readAnswer(response: Response): Promise<ExplainedAnswer> {
  const { status } = response
  const headers = Object.fromEntries(response.headers)
  const body = await readBody(response)
  const problem = status >= 400 && isObject(body) ? body : {}
  const ignored = headers['ignored-properties']
  return {
    status,
    headers,
    body,
    code: typeof problem.code === 'string' ? problem.code : null,
    detail: typeof problem.detail === 'string' ? problem.detail : null,
    errors: Array.isArray(problem.errors) ? problem.errors : [],
    // In brackets, the list of strings in this header is JSON, because names need no escapes.
    ignored: ignored === undefined ? [] : JSON.parse(`[${ignored}]`),
  }
}

async function readBody(response: Response): Promise<unknown> {
  if (response.headers.get('content-type') === 'text/event-stream') {
    // A stream of changes does not end, so its body cannot be read.
    await response.body?.cancel()
    return undefined
  }
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}
