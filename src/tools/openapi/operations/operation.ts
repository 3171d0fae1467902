import type { AuthPlan, Collection } from '../../../core/config/plan.js'
import type { ErrorCode } from '../../../core/errors.js'
import { envelope } from '../../../core/fields/schema/envelope.js'
import type { Endpoint, NamedByPath } from '../../../core/http/routes/route.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'
import { type HeaderName, referToHeader } from '../headers.js'
import type { DescriptionScope } from '../scope.js'

/** The description of a method on a path. */
export interface OperationDescription {
  readonly summary: string
  readonly description?: string
  /** Parameters beside those of the path and of the query language. */
  readonly parameters?: readonly JsonSchema[]
  /** The schema of the body, if the method has one. */
  readonly body?: JsonSchema
  /** The successful responses by status. */
  readonly answers: { readonly [status: number]: JsonSchema }
  /** The codes of its error responses, beside those of all requests, and of all with a body. */
  readonly problems?: readonly ErrorCode[]
  /**
   * The required caller; `session`: the bearer of a token of the service. Default: none, anonymous requests succeed.
   */
  readonly asker?: 'caller' | 'session'
}

/** The path that an operation belongs to. */
export interface OperationPlace {
  readonly endpoint: Endpoint<keyof NamedByPath>
  /** Below `/:collection`. */
  readonly collection: Collection
  /** Below `/auth`. */
  readonly auth: AuthPlan
}

/** Describes an operation; `undefined` if the reader has no right to it. */
export type DescribeOperation = (
  scope: DescriptionScope,
  place: OperationPlace,
) => OperationDescription | undefined

/** A response with a body of JSON. */
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

/** A response without a body. */
export const emptyAnswer = (
  scope: DescriptionScope,
  description: string,
  headers: readonly HeaderName[] = [],
): JsonSchema => ({ description, ...describeHeaders(scope, headers) })

const describeHeaders = (scope: DescriptionScope, names: readonly HeaderName[]): JsonSchema =>
  names.length > 0
    ? { headers: Object.fromEntries(names.map((name) => [name, referToHeader(scope, name)])) }
    : {}

/** A request header. */
export const header = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
})

/** The header of requests whose body may lose properties. */
export const PREFER = header(
  'Prefer',
  '`handling=strict`: a property that would be dropped is a validation error with the code `ignored`, and nothing is stored.',
)

/** The headers of the responses to them. */
export const OF_IGNORING: readonly HeaderName[] = ['Ignored-Properties', 'Preference-Applied']

/** An object without properties. */
export const NOTHING: JsonSchema = envelope({})
