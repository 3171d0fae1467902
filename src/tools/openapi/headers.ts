import type { JsonSchema } from '../../core/json/json-schema.js'
import type { DescriptionScope } from './scope.js'

const text = (description: string): JsonSchema => ({ description, schema: { type: 'string' } })

/** The headers of responses. */
export const HEADERS = {
  ETag: text('The version of the document, as this caller may read it.'),
  Location: text('The path of the new document.'),
  Link: text(
    'The next page, as `<path>; rel="next"`. Absent on the last page, and if longer than 2,048 bytes.',
  ),
  'Next-Cursor': text(
    'The value of `after` for the next page, which replaces `skip`. Absent on the last page.',
  ),
  'Next-Skip': {
    description: 'The value of `skip` for the next page, if there is no `Next-Cursor`.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Total-Count': {
    description: 'The number of all matching documents, if requested by `total`.',
    schema: { type: 'integer' },
  },
  'Ignored-Properties': text(
    'The properties of the body that were dropped, as a list of strings (RFC 9651).',
  ),
  'Preference-Applied': text('`handling=strict`, if requested by `Prefer`.'),
  'Set-Cookie': text('The session, if the request asks for it in a cookie. The body then has no `token`.'),
  'WWW-Authenticate': text('The scheme `Bearer`.'),
  'Retry-After': { description: 'The seconds to wait before the next attempt.', schema: { type: 'integer' } },
} as const satisfies { readonly [name: string]: JsonSchema }

/** The name of a described response header. */
export type HeaderName = keyof typeof HEADERS

/** Returns a reference to the description of a response header. */
export const referToHeader = (scope: DescriptionScope, name: HeaderName): JsonSchema =>
  scope.components.refer('headers', name, () => HEADERS[name])
