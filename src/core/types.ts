import type { Commented, FieldDefinition } from './field-definition.js'
import type { Deliver, Hasher, Logger, Observe, Page } from './types/host.js'

export type { Commented, FieldDefinition, FieldTypeName } from './field-definition.js'

/** A JSON object: a document, a body, or a part of one. */
export type JsonObject = { readonly [name: string]: unknown }

/** A value, or a promise of one where the value takes time. */
export type MaybePromise<T> = T | Promise<T>

/** The operators of conditions (CONTRACT.md §3.3). */
export type OperatorName =
  | '$eq'
  | '$ne'
  | '$gt'
  | '$gte'
  | '$lt'
  | '$lte'
  | '$in'
  | '$nin'
  | '$regex'
  | '$exists'

/** A filter as the query language writes it: `{ "status": "published", "views": { "$gte": 10 } }`. */
export type WhereConfig = { readonly [path: string]: unknown }

/** A claim: the values of one field in the documents that match, such as the teams that a caller belongs to. */
export interface ClaimConfig extends Commented {
  /** The collection of the documents. */
  readonly from: string
  /** Selects the documents; may contain `"$user.<field>"` and `"$now"`, but no other claim. */
  readonly where: WhereConfig
  /** `_id`, or a top-level field with a single value. */
  readonly take: string
}

/** The rule for one subject and one operation. */
export interface RuleConfig extends Commented {
  /** Only these properties. `[]` means none. */
  readonly pick?: readonly string[]
  /** All but these properties; with `pick`, the picked ones without these. */
  readonly omit?: readonly string[]
  /** Only these stored documents. */
  readonly where?: WhereConfig
  /** A filter that the document must match as stored. On update it defaults to `where`; `{}` requires nothing. */
  readonly check?: WhereConfig
  /** Values that replace those of the body; may contain `"$user.<field>"` and `"$now"`. */
  readonly set?: JsonObject
}

/** The rights of one subject. The short form `{ pick, omit }` means `{ "read": true, "create": { pick, omit } }`. */
export type GrantConfig =
  | boolean
  | (Commented & {
      readonly create?: boolean | Omit<RuleConfig, 'where'>
      readonly read?: boolean | Pick<RuleConfig, '$comment' | 'pick' | 'omit' | 'where'>
      readonly update?: boolean | RuleConfig
      readonly delete?: boolean | Pick<RuleConfig, '$comment' | 'where'>
    })
  | Pick<RuleConfig, '$comment' | 'pick' | 'omit'>

/** A collection: its schema, its permissions and its indexes. */
export interface CollectionConfig extends Commented {
  readonly schema: { readonly [field: string]: FieldDefinition }
  /** Keys: `*`, `user`, `owner` and role names. Default: no subject may do anything. */
  readonly permissions?: { readonly [subject: string]: GrantConfig }
  /** Whether undeclared properties are stored and returned. Default false: they are validation errors. */
  readonly additionalProperties?: boolean
  /** Whether `GET /<collection>/changes` streams the changes of this collection. Default false. */
  readonly changes?: boolean
  readonly indexes?: readonly (Commented & {
    readonly fields: readonly string[]
    readonly unique?: boolean
  })[]
}

/** The configuration of accounts. */
export interface AuthConfig extends Commented {
  /** The unique string field of `users` that names an account. */
  readonly identifier?: string
  /** The hash field of `users`. */
  readonly secret?: string
  /** The field of `users` that holds the role. Default: none. */
  readonly roleField?: string
  /** Whether anyone may register. Default true. */
  readonly register?: boolean
  /** Default 30. */
  readonly sessionDays?: number
  /** Sessions of an account, 1 to 1,000: a login beyond them ends the oldest. Default 100. */
  readonly sessions?: number
  /** bcrypt's cost, 10 to 15. Default 12. */
  readonly cost?: number
  /** The timestamp of `users` since which its identifier is verified. Default `null`: no verification. */
  readonly verifiedField?: string | null
  /** Whether an account is active only after its verification. Needs `verifiedField` and `options.deliver`. */
  readonly requireVerified?: boolean
  /** Minutes for which a token for a new secret is valid. Default 60. */
  readonly resetMinutes?: number
  /** Claims by name: attributes of a caller, read from other documents. Rules see each as `$user.<name>`. */
  readonly claims?: { readonly [name: string]: ClaimConfig }
}

/** The limits of one request, and of the streams of changes. */
export interface Limits {
  /** Documents of a list without a limit of its own. Default: `maxLimit`. */
  readonly defaultLimit: number | null
  /** Default: none. */
  readonly maxLimit: number | null
  /** Default 1,048,576. */
  readonly bodyBytes: number
  /** Bytes of a document as JSON, in the form that its writer may read. Default 2,097,152. */
  readonly documentBytes: number
  /** Default 8,192. */
  readonly queryBytes: number
  /** Field-operator pairs of a query. Default 64. */
  readonly conditions: number
  /** Values of a query. Default 100. */
  readonly values: number
  /** Patterns of a query. Default 10. */
  readonly patterns: number
  /** Documents that `expand` puts into one array of a document. Default 100. */
  readonly expanded: number
  /** Documents of a bulk create, and operations of a batch. Default 100. */
  readonly bulk: number
  /** Operations that a hook adds to the write of one document. Default 10. */
  readonly added: number
  /** Seconds from the request to the first byte of the response. Default 10. */
  readonly requestSeconds: number
  /** Streams of changes that a process serves; one caller, or one address, may have a tenth. Default 1000. */
  readonly subscribers: number
  /** Hours for which a stream can resume where it ended. Default 24. */
  readonly changesHours: number
  /** Bytes of documents in the log of changes; beyond them the oldest are deleted. Default 1,073,741,824. */
  readonly changesBytes: number
}

/**
 * The whole configuration: pure JSON. `$comment` may also be a key of `collections`, `schema`, `properties` and
 * `permissions`; an index signature cannot express that, but `defineConfig` accepts it.
 */
export interface Config extends Commented {
  readonly $schema?: string
  /** Accepted findings of `check`: `"<code> <pointer>"`, and ` - ` with the reason. */
  readonly $ignore?: readonly string[]
  readonly collections: { readonly [name: string]: CollectionConfig }
  readonly auth?: AuthConfig
  readonly limits?: Partial<Limits> & Commented
}

/** A caller, as the host identifies one. `null` instead of a caller means anonymous. */
export interface Caller {
  readonly id: string
  readonly roles?: readonly string[]
  readonly [field: string]: unknown
}

/** A document as a caller may read it. */
export type Document = { readonly _id: string } & JsonObject

/** The options of `createCollectionService`. */
export interface ServiceOptions {
  /** Identifies the caller of a request. If it throws, or the caller has no string `id`, the response is a 500. */
  readonly authenticate?: (request: Request) => Caller | null | Promise<Caller | null>
  /** With `authenticate`: whether the service keeps its own accounts too. Default false. */
  readonly accounts?: boolean
  /** Default `""`: the routes begin at `/`. */
  readonly basePath?: string
  /** Default: other origins cannot read responses. `headers`: request headers allowed beside those of the contract. */
  readonly cors?: { readonly origins: readonly string[] | '*'; readonly headers?: readonly string[] }
  /**
   * The client's address for the throttle of logins. Default: the socket's address under the Node mount.
   * Without an address, attempts count by identifier alone.
   */
  readonly clientAddress?: (request: Request) => string | null | undefined
  /** Default: bcrypt at `auth.cost`, one hash at a time. */
  readonly hasher?: Hasher
  /** Default: the console for `warn` and `error`. */
  readonly logger?: Partial<Logger>
  /** Whether a collection open to everyone is an error. Default: `NODE_ENV` is `production`. */
  readonly production?: boolean
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
  /** Whether `GET /_openapi.json` describes what its caller may do (CONTRACT.md §8, "OpenAPI"). Default false. */
  readonly openapi?: boolean
  /** Sends tokens to the owners of accounts, for example by mail. Without it, no secret can be reset. */
  readonly deliver?: Deliver
  /** Receives work that continues after the response, for runtimes that would stop it: `waitUntil`. Never rejects. */
  readonly background?: (work: Promise<void>) => void
  /**
   * Called once for each request, after its last byte or when its client has disconnected, in the request's own async
   * context (CONTRACT.md §8, "Observe").
   */
  readonly observe?: Observe
  /**
   * The admin UI that `createPage()` of `collection-service/page` returns, served at `GET /_page`; it implies
   * `openapi: true`. Default: no admin UI (CONTRACT.md §11).
   */
  readonly page?: Page
}

/** The service as a function of a web-standard request. It never rejects and never throws. */
export interface Handler<C = unknown> {
  // Frameworks pass up to two more arguments. A handler with more parameters would look like an error handler
  // of Express and Connect, whose first argument is `any`: only `toNodeHandler` makes one for Node.
  // biome-ignore lint/suspicious/noExplicitAny: frameworks pass any type
  (request: Request, second?: any, third?: any, ...none: readonly undefined[]): Promise<Response>
  /** Opens the storage, once. Rejects with the cause. The first request opens it too, but answers 503 on failure. */
  ready(): Promise<void>
  /** Waits for requests in flight, at most `limits.requestSeconds`, then closes the adapter. */
  close(): Promise<void>
  /** The same service for a caller that the host has identified. It ignores `Authorization` and has no `/auth`. */
  as(caller: Caller | null): Handler<C>
  /** The prefix of its paths, without a slash at the end: `createClient` adds it. */
  readonly basePath: string
  /** For the compiler only: the type of the configuration, from which clients derive the collections. */
  readonly '~config'?: C
}
