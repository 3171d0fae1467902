import type { CallOptions } from './account-types.js'
import { isClientError } from './client-error.js'
import { createRequests, type DocumentRequest } from './requests.js'
import { type ClientAnswer, isDocument, join, type RequestOptions, type Transport } from './transport.js'
import type { Addressed, CreateOptions } from './types.js'
import { only, writeQuery } from './write-query.js'

/** Creates the calls for single documents of a collection. */
export function createDocuments(name: string, { ask, take, stateOf }: Transport) {
  const requests = createRequests(name, stateOf)

  async function send(
    request: DocumentRequest,
    asked?: Pick<RequestOptions, 'signal'>,
    query = '',
  ): Promise<ClientAnswer['body']> {
    const { method, path, body, ifMatch, ifNoneMatch } = request
    const answer = await ask(method, join(path, query), {
      signal: asked?.signal,
      headers: { 'if-match': ifMatch, 'if-none-match': ifNoneMatch },
      body,
      isRight: method === 'DELETE' ? undefined : isDocument,
    })
    return take(answer.body, answer.headers.get('etag'))
  }

  return {
    async get(document: Addressed, asked: CallOptions = {}) {
      return send(requests.get(document), asked, writeQuery(asked))
    },
    async create(body: object, options?: CreateOptions) {
      return send(requests.create(body, options), options)
    },
    async upsert(document: Addressed, body: object, asked?: CallOptions) {
      const replacing = requests.replace(document, body)
      const options = only(asked)
      try {
        if (!replacing.ifMatch) return await send({ ...replacing, ifNoneMatch: '*' }, options)
      } catch (thrown) {
        if (!isClientError(thrown) || thrown.code !== 'precondition_failed') throw thrown
      }
      return send(replacing, options)
    },
    async update(document: Addressed, body: object, asked?: CallOptions) {
      return send(requests.update(document, body), only(asked))
    },
    async replace(document: Addressed, body: object, asked?: CallOptions) {
      return send(requests.replace(document, body), only(asked))
    },
    async delete(document: Addressed, asked?: CallOptions) {
      return send(requests.delete(document), only(asked))
    },
  }
}
