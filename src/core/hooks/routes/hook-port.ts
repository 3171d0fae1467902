import { type BatchOperation, batch, readOperation, runOperation } from '../../batch/routes/batch.js'
import type { Fault } from '../../errors.js'
import type { Answer } from '../../http/answer.js'
import { etagOfText } from '../../http/etag.js'
import { createFetchHandler } from '../../http/fetch-edge.js'
import { createRespond, type RespondOptions } from '../../http/respond.js'
import type { Routes } from '../../http/routes/find-route.js'
import { isObject } from '../../json/own-properties.js'
import { Call, type Service } from '../../request/call.js'
import type { HookPort } from '../create-hooks.js'
import { requireUnchanged } from '../require-unchanged.js'
import type { HookReader } from '../types.js'
import { readOnly, requireShown } from './read-only.js'

/** The parts of a service that differ between its own rules and full rights. */
export type Rights = Pick<RespondOptions, 'routes' | 'describe'> & { readonly service: Service }

/**
 * Creates the functions with which hooks send requests and run operations. `openFull` returns the service with full
 * rights. `fail` answers a call without a valid request.
 */
export function createHookPort(
  plain: Service,
  options: Omit<RespondOptions, 'identify' | 'askHost' | 'hasAccountRoutes' | 'streams' | 'observe'>,
  openFull: () => Rights,
  fail: (cause: unknown) => Answer,
): HookPort {
  const asCaller: Rights = { service: plain, routes: readOnly(options.routes), describe: options.describe }
  let asSystem: Rights | undefined
  const openSystem = (): Rights => {
    const full = openFull()
    return { ...full, routes: readOnly(full.routes, requireShown) }
  }
  const openReader = (open: () => Rights, call: Call, reenter: () => void): HookReader => {
    const { caller, session, binding } = call
    const begin = (): ReturnType<typeof createFetchHandler> => {
      const { service, ...rights } = open()
      const respond = createRespond(
        // These requests belong to the request that writes, and see the same time.
        { ...service, clock: () => binding.now },
        {
          ...options,
          ...rights,
          // The storage is open, and stays open until the write is answered, even if the service is closing.
          open: () => undefined,
          hasAccountRoutes: false,
          // A hook may follow the links of a response, and its requests do not pass through the proxy.
          publicPath: undefined,
          askHost: undefined,
          // A stream would continue after the write.
          streams: undefined,
          observe: undefined,
          identify: async () => ({ caller, session }),
          createStore: () => call.store,
        },
      )
      return createFetchHandler(respond, fail)
    }
    let handle: ReturnType<typeof begin> | undefined
    const reader = async (request: Request): Promise<Response> => {
      handle ??= begin()
      const response = await handle(request)
      reenter()
      return response
    }
    return Object.assign(reader, { basePath: options.basePath })
  }
  return {
    openApi: (call, reenter) =>
      Object.assign(
        openReader(() => asCaller, call, reenter),
        {
          system: openReader(() => (asSystem ??= openSystem()), call, reenter),
        },
      ),
    judge: (operations) => judgeAlso(options.routes, operations),
    async openReaders(call, operations) {
      if (operations.length === 0) return { reportTo: call, api: call }
      // Claims are read again, as for each request to the `api`.
      const reportTo = call.renew()
      const { deadline, store, caller, binding } = reportTo
      const api = reportTo.service.hasFullRights
        ? new Call(plain, { deadline, store, caller, session: undefined, now: binding.now })
        : reportTo
      for (const written of operations) {
        const { collection, method, ifMatch, ifNoneMatch } = readOperation(written, call.service)
        if (method !== 'GET' || (ifMatch ?? ifNoneMatch) !== undefined) await api.learnToRead(collection)
      }
      return { reportTo, api }
    },
    async perform(own, written, api) {
      const operation = readOperation(written, own.service)
      const { collection, id, method } = operation
      await runOperation(
        own,
        '',
        written.system === true ? operation : await translateTags(own, operation, api),
      )
      if (method === 'GET') await requireUnchanged(own, collection, id)
    },
  }
}

/** Returns the validation errors of operations, with paths into `also`. */
const judgeAlso = (routes: Routes, operations: readonly unknown[]): readonly Fault[] =>
  // Each operation is checked as a batch of its own, because operations that hooks add do not count towards
  // `limits.bulk`.
  operations.flatMap((written, i) => {
    const { system = false, ...operation } = isObject(written) ? written : { system: false }
    const faults = routes
      .judgeBody(batch, { operations: [isObject(written) ? operation : written] })
      .map((fault) => ({ ...fault, path: fault.path.replace(/^\/operations\/0/, `/${i}`) }))
    return typeof system === 'boolean'
      ? faults
      : [...faults, { path: `/${i}/system`, code: 'wrong_type', message: 'must be true or false' }]
  })

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
