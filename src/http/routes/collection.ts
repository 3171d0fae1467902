import type { Collection } from '../../config/plan.js'
import { whenReady } from '../../promises.js'
import { writeCursor } from '../../query/paging/cursor.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { envelope } from '../../schema/envelope.js'
import { authorizeCreate, authorizeList } from '../../service/authorize.js'
import { countDocuments, listDocuments, type Page } from '../../service/read/list-documents.js'
import { createBulk } from '../../service/write/create-bulk.js'
import { createDocument } from '../../service/write/create-document.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Answer } from '../answer.js'
import { answerCreated, answerJson, answerText, tellIgnored } from './answers.js'
import type { Endpoint, Exchange } from './route.js'

/** `GET /:collection`. */
export const list: Endpoint<'collection'> = {
  parameters: ['q', 'sort', 'skip', 'after', 'limit', 'total', 'project', 'expand'],
  run(exchange, { collection }) {
    const learning = exchange.call.learnToRead(collection)
    return learning ? learning.then(() => runList(exchange, collection)) : runList(exchange, collection)
  },
}

function runList(exchange: Exchange, collection: Collection): MaybePromise<Answer> {
  const { call } = exchange
  const access = authorizeList(call, collection)
  const query = exchange.readQuery(access)
  return whenReady(listDocuments(call, { access, query }), (page) =>
    answerText(200, page.json, headPage(exchange, collection, query, page)),
  )
}

/**
 * `X-Total-Count`, and the `Link` (RFC 8288) to the next page: by key, or by `skip` where that is too long.
 */
function headPage(
  { call, prefix }: Exchange,
  { name }: Collection,
  { sort, others }: LinkedQuery,
  { next, total, kept }: Page,
): Answer['headers'] {
  const headers = total === undefined ? {} : { 'x-total-count': String(total) }
  if (!next) return headers
  const base = `${prefix}/${name}`
  if (kept?.link?.prefix === base) return { link: kept.link.header, ...headers }
  const { queryBytes } = call.service.plan.limits
  const after = `after=${writeCursor(sort, next.last, next.passed)}`
  const place = others.length + after.length <= queryBytes ? after : `skip=${next.passed}`
  const link = `<${base}?${others}${place}>; rel="next"`
  if (kept) kept.link = { prefix: base, header: link }
  return { link, ...headers }
}

/** `GET /:collection/count`. */
export const count: Endpoint<'collection'> = {
  parameters: ['q'],
  run(exchange, { collection }) {
    const learning = exchange.call.learnToRead(collection)
    return learning ? learning.then(() => runCount(exchange, collection)) : runCount(exchange, collection)
  },
}

function runCount(exchange: Exchange, collection: Collection): MaybePromise<Answer> {
  const { call } = exchange
  const access = authorizeList(call, collection)
  const { filter } = exchange.readQuery(access)
  return whenReady(countDocuments(call, access, filter), (total) => answerJson(200, { total }))
}

/** `POST /:collection`. */
export const create: Endpoint<'collection'> = {
  run(exchange, { collection }) {
    const { call } = exchange
    const permit = authorizeCreate(call, collection)
    return whenReady(exchange.readBody(), (body) =>
      whenReady(createDocument(call, permit, body), (written) =>
        answerCreated(exchange, collection, written),
      ),
    )
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
