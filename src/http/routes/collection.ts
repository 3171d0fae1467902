import type { Collection } from '../../config/plan.js'
import { envelope } from '../../schema/envelope.js'
import { authorizeCreate, authorizeList } from '../../service/authorize.js'
import {
  countDocuments,
  listDocuments,
  type Page,
  understandQuery,
} from '../../service/read/list-documents.js'
import { createBulk } from '../../service/write/create-bulk.js'
import { createDocument } from '../../service/write/create-document.js'
import type { JsonObject } from '../../types.js'
import type { Answer } from '../answer.js'
import { answerCreated, answerJson, answerText, tellIgnored } from './answers.js'
import type { Endpoint, Exchange } from './route.js'

/** `GET /:collection`. */
export const list: Endpoint<'collection'> = {
  parameters: ['q', 'sort', 'skip', 'after', 'limit', 'total', 'project', 'expand'],
  async run(exchange, { collection }) {
    const { call } = exchange
    const access = authorizeList(call, collection)
    const query = understandQuery(call, access, exchange.readQuery())
    const page = await listDocuments(call, { access, query })
    return answerText(200, page.json, headPage(exchange, collection, page))
  },
}

/**
 * `X-Total-Count`, and the `Link` (RFC 8288) to the next page: by key, or by `skip` where that is too long.
 */
function headPage(
  { call, prefix, query }: Exchange,
  { name }: Collection,
  { next, total }: Page,
): Answer['headers'] {
  const headers = total === undefined ? {} : { 'x-total-count': String(total) }
  if (!next) return headers
  // A query may contain these characters unencoded, but they could end the target of a link.
  const written = query.replace(/["<>\\^`{|}]/g, encodeURIComponent)
  const others = written
    .split('&')
    .filter((part) => part !== '' && !/^(?:after|skip)=/.test(decodeURIComponent(part)))
  const target = [`after=${next.cursor}`, `skip=${next.skip}`]
    .map((place) => [...others, place].join('&'))
    .find((parameters) => parameters.length <= call.service.plan.limits.queryBytes)
  return target === undefined ? headers : { ...headers, link: `<${prefix}/${name}?${target}>; rel="next"` }
}

/** `GET /:collection/count`. */
export const count: Endpoint<'collection'> = {
  parameters: ['q'],
  async run(exchange, { collection }) {
    const { call } = exchange
    const access = authorizeList(call, collection)
    const { filter } = understandQuery(call, access, exchange.readQuery())
    return answerJson(200, { total: await countDocuments(call, access, filter) })
  },
}

/** `POST /:collection`. */
export const create: Endpoint<'collection'> = {
  async run(exchange, { collection }) {
    const permit = authorizeCreate(exchange.call, collection)
    const written = await createDocument(exchange.call, permit, await exchange.readBody())
    return answerCreated(exchange, collection, written)
  },
}

/** `POST /:collection/bulk`. */
export const bulk: Endpoint<'collection'> = {
  envelope: ({ plan }) =>
    envelope({
      documents: { type: 'array', minItems: 1, maxItems: plan.limits.bulk, items: { type: 'object' } },
    }),
  async run(exchange, { collection }) {
    const permit = authorizeCreate(exchange.call, collection)
    const { documents: bodies } = await exchange.readBody()
    // The envelope has checked that these are objects.
    const written = await createBulk(exchange.call, permit, bodies as readonly JsonObject[])
    const texts = written.documents.map(({ text }) => text).join()
    return answerText(201, `{"documents":[${texts}]}`, tellIgnored(written.ignored))
  },
}
