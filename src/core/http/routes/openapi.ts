import { whenReady } from '../../promises.js'
import { notFound, unexpected } from '../../request/refusals.js'
import { etagOfText, isKnown, isMatched } from '../etag.js'
import { answerText } from './answers.js'
import type { Endpoint } from './route.js'

/** `GET /_openapi.json`: describes the operations that the caller may use (CONTRACT.md §8, "OpenAPI"). */
export const openapi: Endpoint = {
  run(exchange) {
    exchange.refuseQuery()
    if (!exchange.describe) throw notFound()
    return whenReady(exchange.describe(), (document) => {
      const etag = etagOfText(document)
      if (!isMatched(exchange.header('if-match'), etag)) throw unexpected()
      if (isKnown(exchange, etag)) return { status: 304, headers: { etag }, body: null }
      return answerText(200, document.bytes, { etag })
    })
  },
}
