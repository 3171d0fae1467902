import { listOperations } from '../../service/read/list-operations.js'
import { answerJson } from './answers.js'
import type { Endpoint } from './route.js'

/** `GET /`: what exists for this caller (CONTRACT.md §7). */
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
