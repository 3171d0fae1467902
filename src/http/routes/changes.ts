import { authorizeList } from '../../service/authorize.js'
import { notFound } from '../../service/refusals.js'
import type { Endpoint } from './route.js'

/**
 * The stream must reach its client event by event: nothing on the way may keep it, or collect it in order to compress
 * it (RFC 9111 §5.2.2.6).
 */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const

/** `GET /:collection/changes`. */
export const changes: Endpoint<'collection'> = {
  parameters: ['q', 'project', 'after', 'lastEventId'],
  async run(exchange, { collection }) {
    const { call, streams, askHost } = exchange
    await call.learnToRead(collection)
    const { event } = exchange.readQuery(authorizeList(call, collection))
    if (!streams) throw notFound()
    const body = await streams.open({
      collection,
      caller: call.caller,
      session: call.session,
      client: exchange.client(),
      // A browser that reconnects sends the header; the address is still the first one.
      after: exchange.header('last-event-id') || event,
      readQuery: (access) => exchange.readQuery(access),
      askHost,
    })
    return { status: 200, headers: HEADERS, body }
  },
}
