import type { Collection } from '../../config/plan.js'
import { aggregateDocuments } from '../../documents/read/aggregate-documents.js'
import { countDocuments, type ListedPage, listDocuments } from '../../documents/read/list-documents.js'
import { createBulk } from '../../documents/write/create-bulk.js'
import { createDocument } from '../../documents/write/create-document.js'
import type { WrittenDocument } from '../../documents/write/written.js'
import { envelope } from '../../fields/schema/envelope.js'
import { whenReady } from '../../promises.js'
import { compileAggregate } from '../../query/compile-aggregate.js'
import { writeCursor } from '../../query/paging/cursor.js'
import { writeOthers } from '../../query/paging/link.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { SUMMARIES } from '../../query/query-string.js'
import { authorizeCreate, authorizeRead } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import type { JsonObject } from '../../types.js'
import { type Answer, answerJson, answerText, NO_HEADERS, tellIgnored } from '../answer.js'
import { etagOfText } from '../etag.js'
import type { Endpoint } from './route.js'

/** `GET /:collection`. */
export const list: Endpoint<'collection'> = {
  parameters: ['q', 'sort', 'skip', 'after', 'limit', 'total', 'project', 'expand'],
  reads: 'list',
  run(call, { collection }) {
    const access = authorizeRead(call, collection, 'list')
    const query = call.readQuery(access)
    return whenReady(listDocuments(call, { access, query }), (page) =>
      answerText(200, page.json, headPage(call, collection, query, page)),
    )
  },
}

/** The maximum bytes of a cursor, and of a `Link` header, because proxies limit the size of response headers. */
const MAX_CURSOR = 1024
const MAX_LINK = 2048

/** Returns the headers with the total count and the position of the next page (CONTRACT.md §3.7). */
function headPage(
  { service, request: { prefix } }: Call,
  collection: Collection,
  { sort, text }: LinkedQuery,
  { next, total, kept }: ListedPage,
): Answer['headers'] {
  const counted = total === undefined ? undefined : { 'x-total-count': String(total) }
  if (!next) return counted ?? NO_HEADERS
  const base = `${prefix}/${collection.name}`
  if (kept?.next?.base === base) return counted ? { ...kept.next.headers, ...counted } : kept.next.headers
  const { queryBytes } = service.plan.limits
  const others = writeOthers(text)
  const cursor = writeCursor(sort, next.last, next.passed)
  const isByKey = cursor.length <= MAX_CURSOR && others.length + 'after='.length + cursor.length <= queryBytes
  const leading = isByKey
    ? leadTo(`${base}?${others}`, 'after', cursor)
    : leadTo(`${base}?${others}`, 'skip', String(next.passed))
  if (kept) kept.next = { base, headers: leading }
  return { ...leading, ...counted }
}

/** Returns the headers that lead to the next page. `others`: its address, up to the parameter with its place. */
function leadTo(others: string, parameter: 'after' | 'skip', place: string): Answer['headers'] {
  const link = `<${others}${parameter}=${place}>; rel="next"`
  const name = parameter === 'after' ? 'next-cursor' : 'next-skip'
  return { [name]: place, ...(link.length <= MAX_LINK ? { link } : {}) }
}

/** `GET /:collection/count`. */
export const count: Endpoint<'collection'> = {
  parameters: ['q'],
  reads: 'list',
  run(call, { collection }) {
    const access = authorizeRead(call, collection, 'list')
    const { filter } = call.readQuery(access)
    return whenReady(countDocuments(call, access, filter), (total) => answerJson(200, { total }))
  },
}

/** `GET /:collection/aggregate`. */
export const aggregate: Endpoint<'collection'> = {
  parameters: ['q', 'by', ...SUMMARIES, 'sort', 'skip', 'limit', 'total'],
  reads: 'list',
  run(call, { collection }) {
    const access = authorizeRead(call, collection, 'list')
    const { limits } = call.service.plan
    const asked = compileAggregate(call.readRaw(), { readable: access, following: call }, limits)
    return whenReady(aggregateDocuments(call, access, asked), ({ json, total, next }) => {
      const { prefix, query } = call.request
      const counted = asked.isTotalAsked ? { 'x-total-count': String(total) } : NO_HEADERS
      if (next === undefined) return answerText(200, json, counted)
      const base = `${prefix}/${collection.name}/aggregate`
      return answerText(200, json, {
        ...leadTo(`${base}?${writeOthers(query)}`, 'skip', String(next)),
        ...counted,
      })
    })
  },
}

/** `POST /:collection`. */
export const create: Endpoint<'collection'> = {
  mayIgnore: true,
  run(call, { collection }) {
    const permit = authorizeCreate(call, collection)
    return whenReady(call.request.readBody(), (body) =>
      whenReady(createDocument(call, permit, body), (written) => answerCreated(call, collection, written)),
    )
  },
}

/** Returns the response with a new document. */
export function answerCreated(
  { request }: Call,
  { name }: Collection,
  { _id, text, ignored }: WrittenDocument,
): Answer {
  const headers = {
    'content-type': 'application/json',
    location: `${request.prefix}/${name}/${_id}`,
    etag: etagOfText(text),
  }
  if (ignored.length > 0) Object.assign(headers, tellIgnored(ignored))
  return { status: 201, headers, body: text }
}

/** `POST /:collection/bulk`. */
export const bulk: Endpoint<'collection'> = {
  mayIgnore: true,
  envelope: ({ plan }) =>
    envelope({
      documents: { type: 'array', minItems: 1, maxItems: plan.limits.bulk, items: { type: 'object' } },
    }),
  async run(call, { collection }) {
    const permit = authorizeCreate(call, collection)
    const { documents: bodies } = await call.request.readBody()
    // The envelope has already checked that these are objects.
    const written = await createBulk(call, permit, bodies as readonly JsonObject[])
    const texts = written.documents.map(({ text }) => text).join()
    return answerText(201, `{"documents":[${texts}]}`, tellIgnored(written.ignored))
  },
}
