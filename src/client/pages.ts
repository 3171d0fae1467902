import type { CallOptions } from './account-types.js'
import { placeOf } from './answers.js'
import { isClientError } from './client-error.js'
import { createList, type List } from './lists.js'
import { pathOf } from './requests.js'
import type { ClientAnswer, RequestOptions, Transport } from './transport.js'
import type { NextPage } from './types.js'
import { fault, only, writeQuery } from './write-query.js'

/** The parameters of a list. */
interface Parameters {
  readonly q?: object | undefined
  readonly limit?: number
  readonly project?: readonly string[] | undefined
  readonly expand?: readonly string[] | undefined
  readonly total?: boolean | undefined
}

interface ShownOptions extends CallOptions {
  readonly project?: readonly string[]
  readonly expand?: readonly string[]
}

interface ReadPage {
  readonly items: ClientAnswer['body']
  readonly total: number | undefined
  readonly next: NextPage | undefined
}

/** Yields the pages of a list, one request each. The first page may be empty. */
async function* readPages(
  list: List,
  parameters: Parameters,
  asked: RequestOptions,
): AsyncGenerator<ReadPage, void, undefined> {
  // `limit` is at most 1,000, because the service returns a longer list in one piece, without a next page.
  const whole = writeQuery(parameters)
  const { limit = 1000 } = parameters
  if (limit > 1000) throw fault('limit', `cannot be ${limit}`)
  let others: object = { ...parameters, limit }
  let answering = list(writeQuery(others), asked).catch((thrown) => {
    // The service has a lower limit. Without `limit`, the service returns pages of its own size.
    if (thrown.status !== 400) throw thrown
    others = parameters
    return list(whole, asked)
  })
  for (;;) {
    const { body, headers } = await answering
    const total = headers.get('x-total-count')
    const place = placeOf(headers)
    const next = place && { ...place, skip: place.skip || undefined }
    yield { items: body, total: total === null ? undefined : Number(total), next }
    if (!next) return
    answering = list(writeQuery({ ...others, ...next }), asked)
  }
}

/** The maximum number of ids in one request, which is the default of `limits.values`. */
const MOST_IDS = 100

/** Whether the service, or a proxy, rejected a request because its query is too long or has too many values. */
const isTooMuch = (thrown: unknown): boolean =>
  isClientError(thrown) &&
  (/^4(14|31)$/.test(`${thrown.status}`) || thrown.errors.some(({ code }) => code === 'too_many'))

/**
 * Reads the documents with some ids that match a filter, in any order, in as many requests as it takes. The ids must
 * satisfy the condition of the filter on `_id`.
 */
export async function readByIds(
  list: List,
  ids: readonly string[],
  { q, ...shown }: Parameters,
  asked: RequestOptions,
): Promise<ClientAnswer['body'][]> {
  if (ids.length === 0) return []
  if (ids.length <= MOST_IDS) {
    const parameters = { ...shown, q: { ...q, _id: { $in: ids } } }
    const documents: ClientAnswer['body'][] = []
    try {
      for await (const { items } of readPages(list, parameters, asked)) documents.push(...items)
      return documents
    } catch (thrown) {
      if (ids.length === 1 || !isTooMuch(thrown)) throw thrown
    }
  }
  const cut = Math.min(MOST_IDS, Math.ceil(ids.length / 2))
  const first = await readByIds(list, ids.slice(0, cut), { q, ...shown }, asked)
  return [...first, ...(await readByIds(list, ids.slice(cut), { q, ...shown }, asked))]
}

/** Creates the calls of a collection that read long lists and many documents, in several requests. */
export function createPages(name: string, transport: Transport) {
  const list = createList(pathOf(name), transport)
  return {
    async page({ total, ...others }: CallOptions & Parameters = {}) {
      const { value } = await readPages(list, { ...others, total: total || undefined }, others).next()
      return value
    },
    async *pages(asked: CallOptions & Parameters = {}) {
      for await (const { items } of readPages(list, asked, asked)) if (items[0]) yield items
    },
    async getMany(ids: readonly string[], { project, expand, ...others }: ShownOptions = {}) {
      const documents = await readByIds(list, [...new Set(ids)], { project, expand }, only(others))
      const found = new Map(documents.map((document) => [document._id, document]))
      return ids.map((id) => found.get(id) ?? found.get(id.toLowerCase()))
    },
  }
}
