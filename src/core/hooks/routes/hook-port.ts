import { type BatchOperation, batch, readOperation, runOperation } from '../../batch/routes/batch.js'
import type { Fault } from '../../errors.js'
import type { Answer } from '../../http/answer.js'
import { etagOfText } from '../../http/etag.js'
import { createFetchHandler } from '../../http/fetch-edge.js'
import { createRespond, type RespondOptions } from '../../http/respond.js'
import type { Routes } from '../../http/routes/find-route.js'
import type { Call } from '../../request/call.js'
import type { HookPort } from '../create-hooks.js'
import { requireUnchanged } from '../require-unchanged.js'
import type { HookApi } from '../types.js'
import { readOnly } from './read-only.js'

/**
 * Creates the functions with which hooks send requests and run operations. `fail` answers a call without a valid
 * request.
 */
export function createHookPort(
  options: Omit<RespondOptions, 'identify' | 'askHost' | 'hasAccountRoutes' | 'streams' | 'observe'>,
  fail: (cause: unknown) => Answer,
): HookPort {
  const routes = readOnly(options.routes)
  const openApi = (call: Call, reenter: () => void): HookApi => {
    const { caller, session, service, binding } = call
    // These requests belong to the request that writes, and see the same time.
    const respond = createRespond(
      { ...service, clock: () => binding.now },
      {
        ...options,
        // The storage is open, and stays open until the write is answered, even if the service is closing.
        open: () => undefined,
        // Read-only, and without streams of changes, because a stream would continue after the write.
        routes,
        hasAccountRoutes: false,
        // A hook may follow the links of a response, and its requests do not pass through the proxy.
        publicPath: undefined,
        askHost: undefined,
        streams: undefined,
        observe: undefined,
        identify: async () => ({ caller, session }),
        createStore: () => call.store,
      },
    )
    const handle = createFetchHandler(respond, fail)
    const api = async (request: Request): Promise<Response> => {
      const response = await handle(request)
      reenter()
      return response
    }
    return Object.assign(api, { basePath: options.basePath })
  }
  return {
    openApi,
    judge: (operations) => judgeAlso(options.routes, operations),
    async openReportTo(call, operations) {
      if (operations.length === 0) return call
      // Claims are read again, as for each request to the `api`.
      const reportTo = call.renew()
      for (const written of operations) {
        const { collection, method, ifMatch, ifNoneMatch } = readOperation(written, call.service)
        if (method !== 'GET' || (ifMatch ?? ifNoneMatch) !== undefined) await reportTo.learnToRead(collection)
      }
      return reportTo
    },
    async perform(own, written, reportTo) {
      const operation = readOperation(written, own.service)
      const { collection, id, method } = operation
      await runOperation(own, '', await translateTags(own, operation, reportTo))
      if (method === 'GET') await requireUnchanged(own, collection, id)
    },
  }
}

/** Returns the validation errors of operations, with paths into `also`. */
const judgeAlso = (routes: Routes, operations: readonly unknown[]): readonly Fault[] =>
  // Each operation is checked as a batch of its own, because operations that hooks add do not count towards
  // `limits.bulk`.
  operations.flatMap((operation, i) =>
    routes
      .judgeBody(batch, { operations: [operation] })
      .map((fault) => ({ ...fault, path: fault.path.replace(/^\/operations\/0/, `/${i}`) })),
  )

/**
 * Replaces the entity tags of an operation. A hook knows the tags of documents as its caller sees them, but the
 * operation runs with rights that show documents whole.
 */
async function translateTags(own: Call, operation: BatchOperation, call: Call): Promise<BatchOperation> {
  const { collection, id, ifMatch, ifNoneMatch } = operation
  if (ifMatch === undefined && ifNoneMatch === undefined) return operation
  const whole = own.access(collection)
  const seen = call.access(collection)
  const stored = whole && (await own.store.read(whole).find(id))
  if (!whole || !stored || !seen?.isReadable(stored)) return operation
  // The quotes are not replaced: a content coding that a proxy added inside the quotes stays (`etag.ts`).
  const [theirs = '', ours = ''] = [seen, whole].map((access) =>
    etagOfText(access.write(stored)).slice(1, -1),
  )
  const translate = (tags: string | undefined): string | undefined => tags?.replaceAll(theirs, ours)
  return { ...operation, ifMatch: translate(ifMatch), ifNoneMatch: translate(ifNoneMatch) }
}
