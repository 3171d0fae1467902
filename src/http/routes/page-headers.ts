import type { Collection } from '../../config/plan.js'
import type { Page } from '../../service/read/list-documents.js'
import type { Answer } from '../answer.js'
import type { Exchange } from './route.js'

/** `X-Total-Count`, and the `Link` (RFC 8288) to the next page: by key, by `skip` where that would be too long. */
export function headPage(
  { call, prefix, query }: Exchange,
  { name }: Collection,
  { next, total }: Page,
): Answer['headers'] {
  const headers = total === undefined ? {} : { 'x-total-count': String(total) }
  if (!next) return headers
  // What a client need not encode in a query could end the target of a link.
  const written = query.replace(/["<>\\^`{|}]/g, encodeURIComponent)
  const others = written
    .split('&')
    .filter((part) => part !== '' && !/^(?:after|skip)=/.test(decodeURIComponent(part)))
  const target = [`after=${next.cursor}`, `skip=${next.skip}`]
    .map((place) => [...others, place].join('&'))
    .find((parameters) => parameters.length <= call.service.plan.limits.queryBytes)
  return target === undefined ? headers : { ...headers, link: `<${prefix}/${name}?${target}>; rel="next"` }
}
