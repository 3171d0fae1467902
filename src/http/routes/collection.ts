import { envelope } from '../../schema/envelope.js'
import { authorizeCreate, authorizeList } from '../../service/authorize.js'
import { countDocuments, listDocuments, understandQuery } from '../../service/read/list-documents.js'
import { createBulk } from '../../service/write/create-bulk.js'
import { createDocument } from '../../service/write/create-document.js'
import type { JsonObject } from '../../types.js'
import { answerCreated, answerJson, answerText, tellIgnored } from './answers.js'
import { headPage } from './page-headers.js'
import type { Endpoint } from './route.js'

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

export const count: Endpoint<'collection'> = {
  parameters: ['q'],
  async run(exchange, { collection }) {
    const { call } = exchange
    const access = authorizeList(call, collection)
    const { filter } = understandQuery(call, access, exchange.readQuery())
    return answerJson(200, { total: await countDocuments(call, access, filter) })
  },
}

export const create: Endpoint<'collection'> = {
  async run(exchange, { collection }) {
    const permit = authorizeCreate(exchange.call, collection)
    const written = await createDocument(exchange.call, permit, await exchange.readBody())
    return answerCreated(exchange, collection, written)
  },
}

export const bulk: Endpoint<'collection'> = {
  envelope: ({ plan }) =>
    envelope({
      documents: { type: 'array', minItems: 1, maxItems: plan.limits.bulk, items: { type: 'object' } },
    }),
  async run(exchange, { collection }) {
    const permit = authorizeCreate(exchange.call, collection)
    const { documents: bodies } = await exchange.readBody()
    // The envelope says that they are objects.
    const written = await createBulk(exchange.call, permit, bodies as readonly JsonObject[])
    const texts = written.documents.map(({ text }) => text).join()
    return answerText(201, `{"documents":[${texts}]}`, tellIgnored(written.ignored))
  },
}
