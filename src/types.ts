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

/** A filter in the words of the query language: `{ "status": "published", "views": { "$gte": 10 } }`. */
export type WhereConfig = { readonly [path: string]: unknown }

/** The values of one field in the documents that match: what a caller is through other documents. */
export interface ClaimConfig extends Commented {
  /** The collection of the documents. */
  readonly from: string
  /** Which documents; `"$user.<field>"` and `"$now"` may stand in it, other claims may not. */
  readonly where: WhereConfig
  /** `_id`, or a top-level field of single values. */
  readonly take: string
}

/** What one subject may do in one operation. */
export interface RuleConfig extends Commented {
  /** Only these properties. `[]` means none. */
  readonly pick?: readonly string[]
  /** All but these properties; with `pick`, the picked ones without these. */
  readonly omit?: readonly string[]
  /** Only these stored documents. */
  readonly where?: WhereConfig
  /** What the document must satisfy as stored. On update it defaults to `where`; `{}` requires nothing. */
  readonly check?: WhereConfig
  /** Values that replace those of the body; `"$user.<field>"` and `"$now"` may stand in them. */
  readonly set?: JsonObject
}

/** What one subject may do. The plain `{ pick, omit }` means `{ "read": true, "create": { pick, omit } }`. */
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
  /** Keys: `*`, `user`, `owner` and role names. Default: nobody may do anything. */
  readonly permissions?: { readonly [subject: string]: GrantConfig }
  /** Whether undeclared properties are stored and returned. Default false: they are faults. */
  readonly additionalProperties?: boolean
  /** Whether `GET /<collection>/changes` tells what changes here. Default false. */
  readonly changes?: boolean
  readonly indexes?: readonly (Commented & {
    readonly fields: readonly string[]
    readonly unique?: boolean
  })[]
}

/** How accounts work. */
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
  /** The timestamp of `users` that says since when its identifier is verified. Default `null`: none is. */
  readonly verifiedField?: string | null
  /** Whether an account counts only once it is verified. Needs `verifiedField` and `options.deliver`. */
  readonly requireVerified?: boolean
  /** Minutes for which a token for a new secret counts. Default 60. */
  readonly resetMinutes?: number
  /** By name: what callers are through other documents. Rules see each as `$user.<name>`. */
  readonly claims?: { readonly [name: string]: ClaimConfig }
}

/** How much one request may ask for. */
export interface Limits {
  /** Documents of a list without a limit of its own. Default: `maxLimit`. */
  readonly defaultLimit: number | null
  /** Default: none. */
  readonly maxLimit: number | null
  /** Default 1,048,576. */
  readonly bodyBytes: number
  /** Bytes of a document as JSON, as its writer may read it. Default 2,097,152. */
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
  /** Seconds from the request to the first byte of its answer. Default 10. */
  readonly requestSeconds: number
  /** Streams of changes that a process serves; one caller, or one address, has a tenth. Default 1000. */
  readonly subscribers: number
  /** Hours for which a stream can go on where it ended. Default 24. */
  readonly changesHours: number
  /** Bytes of documents that the log of changes keeps: the oldest changes go. Default 1,073,741,824. */
  readonly changesBytes: number
}

/**
 * The whole configuration: pure JSON. `$comment` may also stand among the names of `collections`, `schema`,
 * `properties` and `permissions`; an index signature cannot express that, but `defineConfig` accepts it.
 */
export interface Config extends Commented {
  readonly $schema?: string
  /** The findings of `check` that are meant so: `"<code> <pointer>"`, and ` - ` with the reason. */
  readonly $ignore?: readonly string[]
  readonly collections: { readonly [name: string]: CollectionConfig }
  readonly auth?: AuthConfig
  readonly limits?: Partial<Limits> & Commented
}

/** A caller, as the host names one. `null` in its place is an anonymous caller. */
export interface Caller {
  readonly id: string
  readonly roles?: readonly string[]
  readonly [field: string]: unknown
}

/** A document as a caller may read it. */
export type Document = { readonly _id: string } & JsonObject

/** The options of `createCollectionService`. */
export interface ServiceOptions {
  /** Identifies a request's caller. An error in it, or a caller without a string `id`, is a 500. */
  readonly authenticate?: (request: Request) => Caller | null | Promise<Caller | null>
  /** With `authenticate`: whether the service keeps its own accounts too. Default false. */
  readonly accounts?: boolean
  /** Default `""`: the routes begin at `/`. */
  readonly basePath?: string
  /** Default: no other origin may read answers. `headers`: what its pages may send beside the headers of the contract. */
  readonly cors?: { readonly origins: readonly string[] | '*'; readonly headers?: readonly string[] }
  /**
   * The client's address, for the throttle of logins. Default: the socket's address under the Node mount.
   * Where the address is not known, attempts count by identifier alone.
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
  /** Hands tokens to the owners of accounts, by mail for example. Without it, no secret can be reset. */
  readonly deliver?: Deliver
  /** Is given what goes on behind an answer, for runtimes that would end it: `waitUntil`. It never rejects. */
  readonly background?: (work: Promise<void>) => void
  /**
   * Is told of each request once, after its last byte or when its client has gone, in the request's own async
   * context (CONTRACT.md §8, "Observe").
   */
  readonly observe?: Observe
  /**
   * What `createPage()` of `collection-service/page` gives, which is served at `GET /_page`; with it, `openapi` counts
   * as true. Default: there is no page (CONTRACT.md §11).
   */
  readonly page?: Page
}

/** The service as a function of a web-standard request. It never rejects and never throws. */
export interface Handler<C = unknown> {
  // Frameworks pass up to two more arguments. A handler with more parameters would look like an error handler
  // of Express and Connect, whose first argument is `any`: only `toNodeHandler` makes one for Node.
  // biome-ignore lint/suspicious/noExplicitAny: they may be of any type
  (request: Request, second?: any, third?: any, ...none: readonly undefined[]): Promise<Response>
  /** Opens the storage, once. Rejects with the cause. The first request does the same, but answers 503. */
  ready(): Promise<void>
  /** Waits for requests in flight, at most `limits.requestSeconds`, then closes the adapter. */
  close(): Promise<void>
  /** The same service for a caller that the host names. It ignores `Authorization` and has no `/auth`. */
  as(caller: Caller | null): Handler<C>
  /** What its paths begin with, without a slash at the end: `createClient` puts it before them. */
  readonly basePath: string
  /** For the compiler only: the type of the configuration, from which clients know its collections. */
  readonly '~config'?: C
}
