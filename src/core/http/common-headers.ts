import type { Service } from '../request/call.js'
import type { ServiceOptions } from '../types.js'
import { type Answer, NO_STORE } from './answer.js'
import { createCors } from './cors.js'

/** Returns the value of `Vary`: the names of the request headers that decide on responses. */
export function varyOf({ accounts }: Service, { authenticate, cors }: ServiceOptions): string {
  const cookie = accounts?.cookie
  return [
    'Authorization',
    ...(authenticate || cookie ? ['Cookie'] : []),
    ...(createCors(cors, cookie?.origins)?.varies ? ['Origin'] : []),
  ].join(', ')
}

/** Forbids shared caches to keep a response that none may store, because some of them read `private` alone. */
export const privately = (headers: Answer['headers']): Answer['headers'] | undefined => {
  const control = headers['cache-control']
  return control?.startsWith(NO_STORE['cache-control'])
    ? { 'cache-control': `private, ${control}` }
    : undefined
}

/** Returns the headers of a response to a caller of a handler that passed no valid request. */
export const invalidRequestHeaders = (service: Service, host: ServiceOptions): Answer['headers'] => ({
  'x-content-type-options': 'nosniff',
  vary: varyOf(service, host),
  ...NO_STORE,
  ...(service.accounts?.cookie && privately(NO_STORE)),
})
