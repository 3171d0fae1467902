import type { AuthPlan, Collection } from '../../../core/config/plan.js'
import type { ErrorCode } from '../../../core/errors.js'
import { envelope } from '../../../core/fields/schema/envelope.js'
import type { Endpoint, NamedByPath } from '../../../core/http/routes/route.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'
import { type HeaderName, referToHeader } from '../headers.js'
import type { DescriptionScope } from '../scope.js'

/** The description of one method of a path. */
export interface OperationDescription {
  readonly summary: string
  readonly description?: string
  /** Parameters in addition to those of the path and of the query language. */
  readonly parameters?: readonly JsonSchema[]
  /** The schema of the body, if the method has one. */
  readonly body?: JsonSchema
  /** The successful responses, by status. */
  readonly answers: { readonly [status: number]: JsonSchema }
  /** The codes of error responses, except those of all requests and of all requests with a body. */
  readonly problems?: readonly ErrorCode[]
  /**
   * The caller that the operation requires. `caller`: a signed-in caller; `session`: a caller with a token that the
   * service issued. Default: none, so anonymous requests may succeed.
   */
  readonly asker?: 'caller' | 'session'
}

/** The route, collection and accounts that an operation belongs to. */
export interface OperationPlace {
  readonly endpoint: Endpoint<keyof NamedByPath>
  /** Present only if the path is below `/:collection`. */
  readonly collection: Collection
  /** Present only if the path is below `/auth`. */
  readonly auth: AuthPlan
}

/** Describes an operation; `undefined` if the reader has no right to it. */
export type DescribeOperation = (
  scope: DescriptionScope,
  place: OperationPlace,
) => OperationDescription | undefined

/** Describes a response with a JSON body. */
export const answer = (
  scope: DescriptionScope,
  description: string,
  schema: JsonSchema,
  headers: readonly HeaderName[] = [],
): JsonSchema => ({
  description,
  ...describeHeaders(scope, headers),
  content: { 'application/json': { schema } },
})

/** Describes a response without a body. */
export const emptyAnswer = (
  scope: DescriptionScope,
  description: string,
  headers: readonly HeaderName[] = [],
): JsonSchema => ({ description, ...describeHeaders(scope, headers) })

const describeHeaders = (scope: DescriptionScope, names: readonly HeaderName[]): JsonSchema =>
  names.length > 0
    ? { headers: Object.fromEntries(names.map((name) => [name, referToHeader(scope, name)])) }
    : {}

/** Describes a request header. */
export const header = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
})

/** The request header that makes dropped properties a validation error. */
export const PREFER = header(
  'Prefer',
  'With `handling=strict`, a property that would be dropped is a validation error with the code `ignored`, and nothing is stored.',
)

/** The request header that asks for a session in a cookie. */
export const PREFER_COOKIE = header(
  'Prefer',
  'With `session=cookie`, the token is set as a cookie; with `session=token`, it is in the body.',
)

/** The response headers of requests whose bodies may have properties that are dropped. */
export const OF_IGNORING: readonly HeaderName[] = ['Ignored-Properties', 'Preference-Applied']

/** An object without properties. */
export const NOTHING: JsonSchema = envelope({})
