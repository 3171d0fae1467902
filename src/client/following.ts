import { expectEvents, follow, persist } from './changes.js'
import { applyEvent, compileOrder, type LiveList } from './live-list.js'
import { writeQuery } from './write-query.js'

interface Asked {
  readonly q?: object | undefined
  readonly signal?: AbortSignal | undefined
}

interface LiveAsked extends Asked {
  readonly sort?: object
  readonly limit?: number
}

/** Asks for a stream behind an event. */
type Open = (
  query: string,
  lastEventId: string | undefined,
  signal: AbortSignal | undefined,
) => Promise<Response>

/** Asks for a list. */
type List = (
  query: string,
  asked: Asked,
) => Promise<{ readonly body: LiveList['documents']; readonly headers: Headers }>

/** The calls that follow a list. */
export function createFollowing(open: Open, list: List) {
  const events = (asked: Asked) => {
    const { signal } = asked
    const query = writeQuery(asked)
    return follow(async (last) => expectEvents(await open(query, last, signal)), signal)
  }
  return {
    async *changes(asked: Asked = {}) {
      for await (const { event, data } of events(asked))
        yield event === 'reset'
          ? { event }
          : event === 'leave'
            ? { event, ...data }
            : { event, document: data }
    },
    async *live({ q, sort, limit, signal }: LiveAsked = {}) {
      const order = compileOrder(sort)
      const fetchAll = async (): Promise<LiveList> => {
        const { body, headers } = await persist(
          () => list(writeQuery({ q, sort, limit }), { signal }),
          signal,
        )
        const isCut = headers.has('link') || body.length === limit
        return { documents: body, most: isCut ? body.length : (limit ?? Number.POSITIVE_INFINITY) }
      }
      let present: LiveList | undefined
      try {
        for await (const { event, data } of events({ q, signal })) {
          const told = event === 'leave' ? data : { _id: data._id, document: data }
          present = (event !== 'reset' && present && applyEvent(present, told, order)) || (await fetchAll())
          yield present.documents
        }
      } catch (thrown) {
        if (!signal?.aborted) throw thrown
      }
    },
  }
}
