import { listOperations } from '../../documents/read/list-operations.js'
import type { Service } from '../../request/call.js'
import { notFound } from '../../request/refusals.js'
import { isKnown } from '../etag.js'
import { answerJson } from './answers.js'
import type { Endpoint } from './route.js'

/** `GET /`: lists the collections, operations and account paths that the caller may use (CONTRACT.md §7). */
export const root: Endpoint = {
  run(exchange) {
    exchange.refuseQuery()
    const { call, prefix, accountPaths } = exchange
    const collections = listOperations(call).map(({ name, operations }) => ({
      name,
      href: `${prefix}/${name}`,
      operations,
    }))
    const auth = accountPaths.map((path) => prefix + path)
    return answerJson(200, auth.length > 0 ? { collections, auth } : { collections })
  },
}

/** Whether a service serves the admin UI. */
export const hasPage = ({ page }: Pick<Service, 'page'>): boolean => page !== undefined

/** `GET /_page`: serves the admin UI, which is the same for everyone (CONTRACT.md §11). */
export const page: Endpoint = {
  run(exchange) {
    exchange.refuseQuery()
    const { page } = exchange.call.service
    if (!page) throw notFound()
    const { html, policy, etag } = page
    if (isKnown(exchange, etag)) return { status: 304, headers: { etag }, body: null }
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
