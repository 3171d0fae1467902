import { placeOf } from './answers.js'
import { persist, readEvents } from './changes.js'
import { applyEvent, compileOrder, type LiveList } from './live-list.js'
import { refuseOthers } from './write-json.js'
import { writeQuery } from './write-query.js'

interface FollowedQuery {
  readonly q?: object | undefined
  readonly signal?: AbortSignal | undefined
}

interface LiveQuery extends FollowedQuery {
  readonly sort?: object
  readonly limit?: number
}

/** Opens a stream that resumes after an event. */
type Open = (query: string, lastEventId: string | undefined, connection: AbortController) => Promise<Response>

/** Reads a list. */
type List = (
  query: string,
  asked: { readonly connection: AbortController },
) => Promise<{ readonly body: LiveList['documents']; readonly headers: Headers }>

/** Creates the calls that follow a list. */
export function createFollowing(open: Open, list: List) {
  const events = (asked: FollowedQuery) => {
    const query = writeQuery(asked)
    let last: string | undefined
    return persist(async function* (connection) {
      for await (const sent of readEvents(await open(query, last, connection))) {
        // A new request receives the reason as an error.
        last = sent.event === 'end' ? undefined : sent.id
        if (last) yield sent
      }
    }, asked.signal)
  }
  const fetchAll = async (
    query: string,
    limit?: number,
    signal?: AbortSignal,
  ): Promise<LiveList | undefined> => {
    const answers = persist(async function* (connection) {
      yield await list(query, { connection })
    }, signal)
    for await (const { body, headers } of answers)
      return {
        documents: body,
        most: limit ?? body.length,
        isKnown: limit !== undefined || !!placeOf(headers),
      }
    return undefined
  }
  return {
    async *changes(asked: FollowedQuery = {}) {
      for await (const { event, data } of events(asked))
        yield event === 'enter' || event === 'change' ? { event, document: data } : { event, ...data }
    },
    async *live({ q, sort, limit, signal, ...others }: LiveQuery = {}) {
      refuseOthers(others)
      const order = compileOrder(sort)
      const query = writeQuery({ q, sort, limit })
      let present: LiveList | undefined
      for await (const { event, data } of events({ q, signal })) {
        present =
          (event !== 'reset' && present && applyEvent(present, data, event === 'leave', order)) ||
          (await fetchAll(query, limit, signal))
        if (present) yield present.documents
      }
    },
  }
}
