import { invalid } from '../../service/refusals.js'
import { checkMediaType, parseInTurn } from '../body.js'
import type { Routes } from './find-route.js'
import type { Endpoint, Exchange, Place } from './route.js'

/** The parts of an exchange. */
interface Parts extends Omit<Exchange, 'readQuery' | 'readBody' | 'accountPaths'> {
  readonly routes: Routes
  readonly endpoint: Endpoint<keyof Place>
  readonly hasAccountRoutes: boolean
  /** Whether only JSON media types count as JSON. */
  readonly onlyJson: boolean
}

/** Creates the exchange of a request with its endpoint. Each request has one: nothing is copied by spreading. */
export function createExchange(parts: Parts): Exchange {
  const { call, incoming, query, prefix, client, endpoint } = parts
  const { limits, parseQuery } = call.service.plan
  const readQuery: Exchange['readQuery'] = () => parseQuery(query, endpoint.parameters ?? [])
  return {
    call,
    incoming,
    query,
    prefix,
    client,
    accountPaths: parts.hasAccountRoutes ? parts.routes.accountPaths : [],
    readQuery,
    async readBody() {
      const { deadline } = call
      readQuery()
      checkMediaType(incoming.header('content-type'), incoming.header('content-encoding'), parts)
      deadline.enter('body')
      const bytes = await incoming.readBody(limits.bodyBytes, deadline.signal)
      // The body has arrived: from here on the request waits for the service.
      deadline.enter('read')
      const body = await parseInTurn(bytes, () => deadline.signal)
      const faults = parts.routes.judgeBody(endpoint, body)
      if (faults.length > 0) throw invalid(faults)
      return body
    },
  }
}
