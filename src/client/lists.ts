import type { CallOptions } from './account-types.js'
import { pathOf } from './requests.js'
import { type ClientAnswer, join, type RequestOptions, type Transport } from './transport.js'
import { only, writeQuery } from './write-query.js'

/** Requests a list with a query string. */
export type List = (query: string, asked?: RequestOptions) => Promise<ClientAnswer>

export const createList =
  (path: string, { ask }: Transport): List =>
  (query, asked) =>
    ask('GET', join(path, query), { ...asked, isRight: Array.isArray })

/** Creates the calls of a collection for several documents. */
export function createLists(name: string, transport: Transport) {
  const path = pathOf(name)
  const { ask } = transport
  const list = createList(path, transport)

  return {
    async list(asked: CallOptions = {}) {
      return (await list(writeQuery(asked), asked)).body
    },
    async count(asked: CallOptions = {}) {
      const answer = await ask('GET', join(`${path}/count`, writeQuery(asked)), {
        ...asked,
        isRight: (body) => typeof body?.total === 'number',
      })
      return answer.body.total
    },
    async aggregate({ total, ...asked }: CallOptions & { readonly total?: boolean } = {}) {
      const query = writeQuery({ ...asked, total: total || undefined })
      const { body, headers } = await createList(`${path}/aggregate`, transport)(query, asked)
      return total ? { groups: body, total: Number(headers.get('x-total-count')) } : body
    },
    async createMany(documents: readonly object[], asked?: CallOptions) {
      const isRight = (body: ClientAnswer['body']): boolean => Array.isArray(body?.documents)
      const sent = { ...only(asked), body: { documents }, isRight }
      return (await ask('POST', `${path}/bulk`, sent)).body.documents
    },
  }
}
