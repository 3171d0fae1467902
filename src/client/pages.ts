import type { CallOptions } from './account-types.js'
import { placeOf } from './answers.js'
import { createList } from './lists.js'
import { pathOf } from './requests.js'
import type { ClientAnswer, Transport } from './transport.js'
import { fault, writeQuery } from './write-query.js'

/** Creates the calls of a collection that follow the pages of a list. */
export function createPages(name: string, transport: Transport) {
  const list = createList(pathOf(name), transport)
  return {
    async *pages(asked: CallOptions & { readonly limit?: number } = {}) {
      // `limit` is at most 1,000, because the service returns a longer list in one piece, without a next page.
      const whole = writeQuery(asked)
      const { limit = 1000 } = asked
      if (limit > 1000) throw fault('limit', `cannot be ${limit}`)
      let others: object = { ...asked, limit }
      let answering = list(writeQuery(others), asked).catch((thrown) => {
        // The service has a lower limit. Without `limit`, the service returns pages of its own size.
        if (thrown.status !== 400) throw thrown
        others = asked
        return list(whole, asked)
      })
      for (;;) {
        const { body, headers }: ClientAnswer = await answering
        if (body[0]) yield body
        const place = placeOf(headers)
        if (!place) return
        answering = list(writeQuery({ ...others, ...place, skip: place.skip || undefined }), asked)
      }
    },
  }
}
