import type { JsonSchema } from '../../core/json/json-schema.js'
import type { DescriptionScope } from './scope.js'

const text = (description: string): JsonSchema => ({ description, schema: { type: 'string' } })

/** The headers of responses. */
export const HEADERS = {
  ETag: text('The version of the document, as this caller may read it.'),
  Location: text('The path of the new document.'),
  Link: text('The next page: `<path>; rel="next"`. Absent on the last one, and beyond 2,048 bytes.'),
  'Next-Cursor': text('The `after` of the next page, instead of `skip`. Absent on the last page.'),
  'Next-Skip': {
    description: 'The `skip` of the next page, if there is no cursor.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Total-Count': {
    description: 'The number of all matches, if requested.',
    schema: { type: 'integer' },
  },
  'Ignored-Properties': text('The properties of the body that were dropped: a list of strings (RFC 9651).'),
  'Preference-Applied': text('`handling=strict`, if requested.'),
  'WWW-Authenticate': text('`Bearer`.'),
  'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } },
} as const satisfies { readonly [name: string]: JsonSchema }

/** The name of a described response header. */
export type HeaderName = keyof typeof HEADERS

/** Returns a reference to the description of a response header. */
export const referToHeader = (scope: DescriptionScope, name: HeaderName): JsonSchema =>
  scope.components.refer('headers', name, () => HEADERS[name])
