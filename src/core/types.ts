import type { Commented, FieldDefinition } from './field-definition.js'
import type { Deliver, Hasher, Health, Logger, Observe, Page } from './types/host.js'

export type { Commented, FieldDefinition, FieldTypeName } from './field-definition.js'

/** A JSON object: a document, a body, or a part of one. */
export type JsonObject = { readonly [name: string]: unknown }

/** A value, or a promise of the value if it is not available yet. */
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

/** A filter in the query language, as JSON: `{ "status": "published", "views": { "$gte": 10 } }`. */
export type WhereConfig = { readonly [path: string]: unknown }

/** A claim: the values of one field in all documents that match, for example the teams that a caller belongs to. */
export interface ClaimConfig extends Commented {
  /** The collection of the documents. */
  readonly from: string
  /**
   * Selects the documents; may contain `"$user.<field>"`, `"$now"`, and beside `$in` and `$nin` `"$user.<claim>"` of a
   * claim that uses no claims itself.
   */
  readonly where: WhereConfig
  /** The field whose values the claim contains: `_id`, or a top-level field with a single value. */
  readonly take: string
}

/** The rule for one subject and one operation. */
export interface RuleConfig extends Commented {
  /** Restricts the rule to these properties. `[]` means none. */
  readonly pick?: readonly string[]
  /** Excludes these properties. With `pick`: the rule covers the picked properties without these. */
  readonly omit?: readonly string[]
  /** Restricts the rule to stored documents that match. */
  readonly where?: WhereConfig
  /**
   * A filter that the document must match as it would be stored. On update it defaults to `where`; `{}` requires
   * nothing.
   */
  readonly check?: WhereConfig
  /** Values that replace values of the body. They may contain `"$user.<field>"` and `"$now"`. */
  readonly set?: JsonObject
}

/**
 * The right of a subject to one operation: `true`, `false`, a rule, or 1 to 16 rules. The rules of an array add up for
 * reads. For a write, they are tried in their order.
 */
export type RulesConfig<R = RuleConfig> = boolean | R | readonly R[]

/** The rights of one subject. The short form `{ pick, omit }` means `{ "read": true, "create": { pick, omit } }`. */
export type GrantConfig =
  | boolean
  | (Commented & {
      readonly create?: RulesConfig<Omit<RuleConfig, 'where'>>
      readonly read?: RulesConfig<Pick<RuleConfig, '$comment' | 'pick' | 'omit' | 'where'>>
      readonly update?: RulesConfig
      readonly delete?: RulesConfig<Pick<RuleConfig, '$comment' | 'where'>>
    })
  | Pick<RuleConfig, '$comment' | 'pick' | 'omit'>

/** A collection: its schema, its permissions and its indexes. */
export interface CollectionConfig extends Commented {
  /** The name of the collection in the storage, if it was renamed. Default: its own name. */
  readonly stored?: string
  /** The stored names of former top-level fields and properties whose values a run of migrate removes, if it is told to. */
  readonly erase?: readonly string[]
  readonly schema: { readonly [field: string]: FieldDefinition }
  /** Permissions by subject: `*`, `user`, `owner` or the name of a role. Default: no subject may do anything. */
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
  /** The unique string field of `users` that identifies an account. */
  readonly identifier?: string
  /** The hash field of `users` that holds the password. */
  readonly secret?: string
  /** The field of `users` that holds the role. Default: none. */
  readonly roleField?: string
  /** Whether anyone may register. Default true. */
  readonly register?: boolean
  /** Days after which a session ends. Default 30. */
  readonly sessionDays?: number
  /** The maximum number of sessions of an account, 1 to 1,000: a further login ends the oldest session. Default 100. */
  readonly sessions?: number
  /** The cost of bcrypt, 10 to 15. Default 12. */
  readonly cost?: number
  /** The timestamp field of `users` for the time when the identifier was verified. Default `null`: no verification. */
  readonly verifiedField?: string | null
  /** Whether an account is active only once its identifier is verified. Needs `verifiedField` and `options.deliver`. */
  readonly requireVerified?: boolean
  /** Minutes for which a token to reset a secret is valid. Default 60. */
  readonly resetMinutes?: number
  /** Whether browsers may keep sessions in a cookie that scripts cannot read; `true` means all defaults. Default false. */
  readonly cookie?: boolean | CookieConfig
  /**
   * Claims by name. A claim is an attribute of the caller that is read from other documents. Rules see it as
   * `$user.<name>`.
   */
  readonly claims?: { readonly [name: string]: ClaimConfig }
}

/** The cookie of sessions (CONTRACT.md §4, "Sessions in cookies"). */
export interface CookieConfig extends Commented {
  /** Default `__Host-session`; on another path than `/`: `session`. */
  readonly name?: string
  /** The attribute `SameSite`. Default `lax`. */
  readonly sameSite?: 'lax' | 'strict'
  /** The path of the requests that browsers send the cookie with. It covers the base path. Default `/`. */
  readonly path?: string
  /** Other origins whose pages may use the cookie, such as `https://app.example`; also in `options.cors`. Default: none. */
  readonly origins?: readonly string[]
}

/** The limits of one request, and of the streams of changes. */
export interface Limits {
  /** The limit of a list whose query has no limit. Default: `maxLimit`. */
  readonly defaultLimit: number | null
  /** The largest limit that a query may have. Default: none. */
  readonly maxLimit: number | null
  /** Bytes of a request body. Default 1,048,576. */
  readonly bodyBytes: number
  /** Bytes of a document as JSON. Only the parts that its writer may read or has given count. Default 2,097,152. */
  readonly documentBytes: number
  /** Bytes of a query string. Default 8,192. */
  readonly queryBytes: number
  /** Conditions of a query: pairs of a field and an operator. Default 64. */
  readonly conditions: number
  /** Values of a query. Default 100. */
  readonly values: number
  /** Groups of an aggregate, on all its pages together. Default 10,000. */
  readonly groups: number
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
  /**
   * Streams of changes that a process serves. A single caller, or a single address, may have a tenth of them. Default
   * 1000.
   */
  readonly subscribers: number
  /** Hours for which a stream of changes can resume from the position where it ended. Default 24. */
  readonly changesHours: number
  /** Bytes of documents in the log of changes. Beyond them, the oldest changes are deleted. Default 1,073,741,824. */
  readonly changesBytes: number
}

/**
 * The whole configuration: pure JSON. `$comment` may also be a key of `collections`, `schema`, `properties` and
 * `permissions`; an index signature cannot express that, but `defineConfig` accepts it.
 */
export interface Config extends Commented {
  readonly $schema?: string
  /** Findings of `check` that are accepted: `"<code> <pointer>"`, optionally followed by ` - ` and a reason. */
  readonly $ignore?: readonly string[]
  readonly collections: { readonly [name: string]: CollectionConfig }
  readonly auth?: AuthConfig
  readonly limits?: Partial<Limits> & Commented
  /** The names of the migrations of stored documents, in their order. Their code is in `options.migrations`. */
  readonly migrations?: readonly string[]
}

/** A caller that the host has identified. `null` instead of a caller means anonymous. */
export interface Caller {
  readonly id: string
  readonly roles?: readonly string[]
  readonly [field: string]: unknown
}

/** A document as a caller may read it. */
export type Document = { readonly _id: string } & JsonObject

/** The connection through which a request came. */
export interface Connection {
  /** The address of its other end, such as a proxy; `undefined` if the service does not know it. */
  readonly address: string | undefined
}

/** What a migration makes of a document. All names are stored ones (CONTRACT.md §1, "Migrations"). */
export interface MigrationResult {
  /** New values of top-level fields or free properties; `null` removes a value. */
  readonly set?: JsonObject
  /** Documents to create: `in` is a collection. They may have `_id`, `createdAt`, `updatedAt` and `createdBy`. */
  readonly also?: readonly { readonly in: string; readonly document: JsonObject }[]
  /** Whether the document is removed. */
  readonly remove?: true
}

/**
 * Migrates one document: stored names, with system fields and undeclared values, without hashes; frozen. It must be pure,
 * because it may be called again. Without a result, the document stays as it is.
 */
export type MigrateDocument = (
  document: { readonly _id: string } & JsonObject,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has this type
) => MaybePromise<MigrationResult | undefined | void>

/** The code of a migration. */
export interface Migration {
  /** The functions by stored collection. */
  readonly collections: { readonly [collection: string]: MigrateDocument }
}

/** The code of migrations, by their names in the configuration. */
export interface Migrations {
  readonly [name: string]: Migration
}

/** The options of `createCollectionService`. */
export interface ServiceOptions {
  /** Identifies the caller of a request. If it throws, or the caller has no string `id`, the response is a 500. */
  readonly authenticate?: (request: Request) => Caller | null | Promise<Caller | null>
  /** Whether the service keeps its own accounts even if `authenticate` is set. Default false. */
  readonly accounts?: boolean
  /** The prefix of all paths. Default `""`: the routes begin at `/`. */
  readonly basePath?: string
  /**
   * The prefix of all paths in responses, if a proxy removes or replaces it in the requests. Default: the prefix of the
   * requests.
   */
  readonly publicPath?: string
  /**
   * The other origins that may read responses. Default: none. `headers`: request headers that are allowed in addition
   * to those of the contract.
   */
  readonly cors?: { readonly origins: readonly string[] | '*'; readonly headers?: readonly string[] }
  /**
   * Returns the client's address, by which logins are throttled. Default: the socket's address under the Node mount.
   * Without an address, login attempts are counted only by identifier. With reverse proxies in front of the service:
   * `forwardedAddress({ trust })`.
   */
  readonly clientAddress?: (request: Request, connection: Connection) => string | null | undefined
  /** Hashes secrets. Default: bcrypt with the cost `auth.cost`, one hash at a time. */
  readonly hasher?: Hasher
  /** Receives log messages; a logger of pino can be passed as it is. Default: `warn` and `error` go to the console. */
  readonly logger?: Partial<Logger>
  /** Whether a collection that is open to everyone is an error. Default: true if `NODE_ENV` is `production`. */
  readonly production?: boolean
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
  /** Whether `GET /_openapi.json` describes what its caller may do (CONTRACT.md §8, "OpenAPI"). Default false. */
  readonly openapi?: boolean
  /** Sends tokens to the owners of accounts, for example by mail. Without it, no secret can be reset. */
  readonly deliver?: Deliver
  /**
   * Receives work that continues after the response, for runtimes that would otherwise stop it: pass it to
   * `waitUntil`. The promise never rejects.
   */
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
  /**
   * Whether `GET /_health/live` and `GET /_health/ready` exist. With `detailed`, the response of `ready` contains each
   * check. Default true (CONTRACT.md §7, "Health").
   */
  readonly health?: boolean | 'detailed'
  /** The code of the migrations that stored documents need, by their names in `migrations` of the configuration. */
  readonly migrations?: Migrations
  /**
   * Whether a start first brings stored documents into the form of the configuration, as `migrateCollections` does.
   * Default false: a start rejects with `ConfigError` if the documents need it (CONTRACT.md §7, "Migrating").
   */
  readonly migrate?: boolean
}

/** The options of `system`. */
export interface SystemOptions {
  /**
   * The id that becomes `createdBy` of new documents and `by` of changes. Default: none, so these are `null`. It gives
   * no rights and need not be the id of an account.
   */
  readonly as?: string
}

/** The caller of a request (CONTRACT.md §7, "Identifying callers"). */
export interface IdentifiedCaller {
  readonly id: string
  /** The roles of the caller, without `*`, `user` and `owner`. */
  readonly roles: readonly string[]
  /**
   * Reads a claim of the caller. Resolves with `null` if the caller lacks the claim. Rejects with a `TypeError` if the
   * configuration declares no claim of this name.
   */
  claims(name: string): Promise<IdentifiedClaim | null>
}

/** The values of a claim. */
export interface IdentifiedClaim {
  /** The distinct values, the oldest document's first. */
  readonly values: readonly (string | number | boolean)[]
  /** Whether these are all values. False if the claim has more than 1,000 documents. */
  readonly isAll: boolean
}

/** The handler that `createCollectionService` returns. */
export interface CollectionService<C = unknown> extends Handler<C> {
  /**
   * Returns a handler of the same service with full rights, for code of the host (CONTRACT.md §7, "Full rights"): rules
   * do not apply; validation, references, uniqueness and limits do. It ignores `Authorization` and has no `/auth`
   * routes. Throws `ConfigError` for an unknown option, and for an `as` that no caller could have.
   */
  system(options?: SystemOptions): Handler<C>
  /**
   * Identifies the caller of a request, for routes of the host. Resolves with `null` for an anonymous caller, and for a
   * session that is invalid or has ended. Rejects with the error that `authenticate` throws, and if the storage fails.
   */
  identify(request: Request): Promise<IdentifiedCaller | null>
}

/** The service as a function of a web-standard request. It never rejects and never throws. */
export interface Handler<C = unknown> {
  // Frameworks pass up to two more arguments. A handler that accepts a further one would look like an error handler of
  // Express and Connect, whose first argument is `any`. Only `toNodeHandler` makes a handler for Node.
  // biome-ignore lint/suspicious/noExplicitAny: frameworks pass any type
  (request: Request, second?: any, third?: any, ...none: readonly undefined[]): Promise<Response>
  /**
   * Opens the storage, if it is not open yet. Rejects with the cause if that fails. The first request also opens the
   * storage, but returns 503 if that fails.
   */
  ready(): Promise<void>
  /**
   * Makes `GET /_health/ready` answer 503 from now on, while requests are still answered, so that a proxy sends its
   * requests elsewhere. To be called some seconds before `close`.
   */
  drain(): void
  /** Waits for requests in flight, at most `limits.requestSeconds`, then closes the adapter. */
  close(): Promise<void>
  /**
   * Checks whether requests can succeed, like `GET /_health/ready`: opens the storage if it is not open yet, and asks
   * it at most once a second for all callers. Never rejects.
   */
  health(): Promise<Health>
  /**
   * Returns a handler of the same service for a caller that the host has identified. It ignores `Authorization` and
   * has no `/auth` routes.
   */
  as(caller: Caller | null): Handler<C>
  /** The prefix of all paths, without a slash at the end. `createClient` adds it to its paths. */
  readonly basePath: string
  /** For the compiler only: the type of the configuration, from which clients derive the collections. */
  readonly '~config'?: C
}
