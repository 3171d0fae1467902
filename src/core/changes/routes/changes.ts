import type { Endpoint } from '../../http/routes/route.js'
import { authorizeRead } from '../../request/authorize.js'
import { notFound } from '../../request/refusals.js'

/**
 * The stream must reach its client event by event: proxies must not cache it, or buffer it for compression
 * (RFC 9111 §5.2.2.6).
 */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const

/** `GET /:collection/changes`. */
export const changes: Endpoint<'collection'> = {
  parameters: ['q', 'project', 'after', 'lastEventId'],
  reads: 'changes',
  async run(call, { collection }, { streams }) {
    const { request } = call
    const { event } = call.readQuery(authorizeRead(call, collection, 'list'))
    if (!streams) throw notFound()
    const body = await streams.open({
      collection,
      caller: call.caller,
      session: call.session,
      client: request.client(),
      // A browser that reconnects repeats the URL of its first request, and sends this header with the newest id.
      after: request.header('last-event-id') || event,
      readQuery: (access) => call.readQuery(access),
      askHost: request.askHost,
    })
    return { status: 200, headers: HEADERS, body }
  },
}
