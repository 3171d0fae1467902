/** A worker that serves pairs of documents, below /object from a Durable Object and below /d1 from D1: for workerd-kills.mjs. */
import { createCollectionService } from 'collection-service'
import { createD1Adapter } from 'collection-service/d1'
import { createDurableObjectAdapter } from 'collection-service/durable-object'

const config = {
  collections: {
    pairs: { changes: true, schema: { pair: { type: 'string' } }, permissions: { '*': true } },
  },
}

const serve = (adapter, basePath) =>
  createCollectionService(config, adapter, { basePath, logger: { info() {}, warn() {}, error() {} } })

export class Store {
  constructor({ storage }) {
    this.service = serve(createDurableObjectAdapter(storage), '/object')
  }

  fetch(request) {
    return this.service(request)
  }
}

let onD1

export default {
  fetch(request, { STORE, D1 }) {
    if (new URL(request.url).pathname.startsWith('/object'))
      return STORE.get(STORE.idFromName('pairs')).fetch(request)
    onD1 ??= serve(createD1Adapter(D1), '/d1')
    return onD1(request)
  },
}
