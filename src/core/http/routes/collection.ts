import type { Collection } from '../../config/plan.js'
import { countDocuments, type ListedPage, listDocuments } from '../../documents/read/list-documents.js'
import { createBulk } from '../../documents/write/create-bulk.js'
import { createDocument } from '../../documents/write/create-document.js'
import { envelope } from '../../fields/schema/envelope.js'
import { whenReady } from '../../promises.js'
import { writeCursor } from '../../query/paging/cursor.js'
import { writeOthers } from '../../query/paging/link.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { authorizeCreate, authorizeList } from '../../request/authorize.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Answer } from '../answer.js'
import { answerCreated, answerJson, answerText, tellIgnored } from './answers.js'
import type { Endpoint, Exchange } from './route.js'

/** `GET /:collection`. */
export const list: Endpoint<'collection'> = {
  parameters: ['q', 'sort', 'skip', 'after', 'limit', 'total', 'project', 'expand'],
  reads: 'list',
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

/** The maximum bytes of a cursor, and of a `Link` header, because proxies limit the size of response headers. */
const MAX_CURSOR = 1024
const MAX_LINK = 2048

/** Returns the headers with the total count and the position of the next page (CONTRACT.md §3.7). */
function headPage(
  { call, prefix }: Exchange,
  collection: Collection,
  { sort, text }: LinkedQuery,
  { next, total, kept }: ListedPage,
): Answer['headers'] {
  const headers = total === undefined ? {} : { 'x-total-count': String(total) }
  if (!next) return headers
  const base = `${prefix}/${collection.name}`
  if (kept?.next?.base === base) return { ...kept.next.headers, ...headers }
  const { queryBytes } = call.service.plan.limits
  const others = writeOthers(text)
  const cursor = writeCursor(sort, next.last, next.passed)
  const isByKey = cursor.length <= MAX_CURSOR && others.length + 'after='.length + cursor.length <= queryBytes
  const [name, place, parameter] = isByKey
    ? ['next-cursor', cursor, 'after']
    : ['next-skip', String(next.passed), 'skip']
  const link = `<${base}?${others}${parameter}=${place}>; rel="next"`
  const leading = { [name]: place, ...(link.length <= MAX_LINK ? { link } : {}) }
  if (kept) kept.next = { base, headers: leading }
  return { ...leading, ...headers }
}

/** `GET /:collection/count`. */
export const count: Endpoint<'collection'> = {
  parameters: ['q'],
  reads: 'list',
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
  mayIgnore: true,
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
  mayIgnore: true,
  envelope: ({ plan }) =>
    envelope({
      documents: { type: 'array', minItems: 1, maxItems: plan.limits.bulk, items: { type: 'object' } },
    }),
  async run(exchange, { collection }) {
    const permit = authorizeCreate(exchange.call, collection)
    const { documents: bodies } = await exchange.readBody()
    // The envelope has already checked that these are objects.
    const written = await createBulk(exchange.call, permit, bodies as readonly JsonObject[])
    const texts = written.documents.map(({ text }) => text).join()
    return answerText(201, `{"documents":[${texts}]}`, tellIgnored(written.ignored))
  },
}
