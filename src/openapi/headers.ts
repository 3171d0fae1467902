import type { JsonSchema } from '../json/json-schema.js'
import type { DescriptionScope } from './scope.js'

const text = (description: string): JsonSchema => ({ description, schema: { type: 'string' } })

/** The headers of answers. */
export const HEADERS = {
  ETag: text('Stands for the document as this caller may read it.'),
  Location: text('The path of the new document.'),
  Link: text('The next page: `<path>; rel="next"`. Absent on the last one, and beyond 2,048 bytes.'),
  'Next-Cursor': text('More documents follow: `after` of the next page, in place of `skip`.'),
  'Next-Skip': {
    description: 'The same where there is no cursor: `skip` of the next page, in place of `after`.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Total-Count': {
    description: 'The number of all matches, where the request asked for it.',
    schema: { type: 'integer' },
  },
  'Ignored-Properties': text('The properties of the body that were dropped: a list of strings (RFC 9651).'),
  'Preference-Applied': text('`handling=strict`, where the request asked for it.'),
  'WWW-Authenticate': text('`Bearer`.'),
  'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } },
} as const satisfies { readonly [name: string]: JsonSchema }

/** The name of a header of answers. */
export type HeaderName = keyof typeof HEADERS

/** A reference to the description of a header. */
export const referToHeader = (scope: DescriptionScope, name: HeaderName): JsonSchema =>
  scope.components.refer('headers', name, () => HEADERS[name])
