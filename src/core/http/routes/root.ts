import { whenReady } from '../../promises.js'
import { findRights } from '../../request/authorize.js'
import type { Service } from '../../request/call.js'
import { notFound, unexpected } from '../../request/refusals.js'
import { answerJson, answerText } from '../answer.js'
import { etagOfText, isKnown, isMatched } from '../etag.js'
import type { Endpoint } from './route.js'

const OPERATIONS = ['list', 'create', 'read', 'update', 'delete'] as const

/**
 * `GET /`: lists the collections, operations and account paths that the caller may use (CONTRACT.md §7), in the order of
 * the configuration. Whether an operation may be used does not depend on individual documents.
 */
export const root: Endpoint = {
  run(call, _, { accountPaths }) {
    call.refuseQuery()
    const { service, caller, request } = call
    const { prefix } = request
    const collections = [...service.plan.collections.values()].flatMap((collection) => {
      const { name } = collection
      const rights = findRights(service, collection, caller)
      const operations = OPERATIONS.filter((one) => rights[one === 'list' ? 'read' : one].length > 0)
      return operations.length > 0 ? [{ name, href: `${prefix}/${name}`, operations }] : []
    })
    const auth = accountPaths.map((path) => prefix + path)
    return answerJson(200, auth.length > 0 ? { collections, auth } : { collections })
  },
}

/** `GET /_openapi.json`: describes the operations that the caller may use (CONTRACT.md §8, "OpenAPI"). */
export const openapi: Endpoint = {
  run(call, _, { describe, hasAccountRoutes }) {
    call.refuseQuery()
    if (!describe) throw notFound()
    const { request } = call
    return whenReady(describe(call, { prefix: request.prefix, hasAccountRoutes }), (document) => {
      const etag = etagOfText(document)
      if (!isMatched(request.header('if-match'), etag)) throw unexpected()
      if (isKnown(request, etag)) return { status: 304, headers: { etag }, body: null }
      return answerText(200, document.bytes, { etag })
    })
  },
}

/** Whether a service serves the admin UI. */
export const hasPage = ({ page }: Pick<Service, 'page'>): boolean => page !== undefined

/** `GET /_page`: serves the admin UI, which is the same for everyone (CONTRACT.md §11). */
export const page: Endpoint = {
  run(call) {
    call.refuseQuery()
    const { page } = call.service
    if (!page) throw notFound()
    const { html, policy, etag } = page
    if (isKnown(call.request, etag)) return { status: 304, headers: { etag }, body: null }
    return {
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        etag,
      },
      body: html,
    }
  },
}
