/** An object of JSON: a document, a body, or a part of one. */
export type JsonObject = { readonly [name: string]: unknown }

/** A value, or a promise of one: no promise where nothing waits. */
export type MaybePromise<T> = T | Promise<T>

/** What may be said to people in every object of a configuration but literals and filters; ignored. */
export interface Commented {
  readonly $comment?: string
}

interface CommonAttributes extends Commented {
  readonly description?: string
  /** The property must be there whenever a document is stored. */
  readonly required?: boolean
  /** A `null` in a body is accepted and means "absent". */
  readonly nullable?: boolean
  /** Set on create only. */
  readonly immutable?: boolean
}

interface ScalarAttributes extends CommonAttributes {
  readonly unique?: boolean
  readonly index?: boolean
}

/** The definition of a field: a type and its attributes, in JSON Schema's own keywords. */
export type FieldDefinition =
  | (ScalarAttributes & {
      readonly type: 'string'
      readonly minLength?: number
      readonly maxLength?: number
      readonly pattern?: string
      readonly format?: 'email' | 'uri' | 'uuid' | 'date' | 'time' | 'ipv4' | 'ipv6' | 'hostname'
      readonly enum?: readonly string[]
      readonly trim?: boolean
      readonly lowercase?: boolean
      readonly default?: string
    })
  | (CommonAttributes & { readonly type: 'hash'; readonly minLength?: number; readonly maxLength?: number })
  | (ScalarAttributes & {
      readonly type: 'number' | 'integer'
      readonly minimum?: number
      readonly maximum?: number
      readonly enum?: readonly number[]
      readonly default?: number
    })
  | (ScalarAttributes & { readonly type: 'boolean'; readonly default?: boolean })
  | (ScalarAttributes & {
      readonly type: 'timestamp'
      readonly minimum?: string
      readonly maximum?: string
      readonly default?: string
    })
  | (CommonAttributes & {
      readonly type: 'array'
      readonly items: FieldDefinition
      readonly minItems?: number
      readonly maxItems?: number
      readonly default?: readonly unknown[]
    })
  | (CommonAttributes & {
      readonly type: 'object'
      readonly properties: { readonly [name: string]: FieldDefinition }
      readonly default?: JsonObject
    })
  | (CommonAttributes & { readonly type: 'json'; readonly default?: unknown })
  | (ScalarAttributes & {
      readonly type: 'reference'
      /** Where the document lies whose `_id` this is. */
      readonly collection: string
      /** What becomes of this document when that one is deleted. Default: it keeps that one from being deleted. */
      readonly onDelete?: 'restrict' | 'cascade'
      readonly default?: string
    })

export type FieldTypeName = FieldDefinition['type']

/** What a condition may ask of a field (CONTRACT.md §3.3). */
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

/** Which documents, in the words of the query language: `{ "status": "published", "views": { "$gte": 10 } }`. */
export type WhereConfig = { readonly [path: string]: unknown }

export interface RuleConfig extends Commented {
  /** Only these properties. `[]` is none. */
  readonly pick?: readonly string[]
  /** All but these properties; with `pick`, what is picked less these. */
  readonly omit?: readonly string[]
  /** Only these stored documents. */
  readonly where?: WhereConfig
  /** What the document must satisfy as it would be stored. On update it defaults to `where`; `{}` lifts it. */
  readonly check?: WhereConfig
  /** Values put in over the body; `"$user.<field>"` and `"$now"` in them stand for the caller's own and the time. */
  readonly set?: JsonObject
}

/** What one subject may do. The plain `{ pick, omit }` stands for `{ "read": true, "create": { pick, omit } }`. */
export type GrantConfig =
  | boolean
  | (Commented & {
      readonly create?: boolean | Omit<RuleConfig, 'where'>
      readonly read?: boolean | Pick<RuleConfig, '$comment' | 'pick' | 'omit' | 'where'>
      readonly update?: boolean | RuleConfig
      readonly delete?: boolean | Pick<RuleConfig, '$comment' | 'where'>
    })
  | Pick<RuleConfig, '$comment' | 'pick' | 'omit'>

export interface CollectionConfig extends Commented {
  readonly schema: { readonly [field: string]: FieldDefinition }
  /** Keys: `*`, `user`, `owner` and role names. Without it nobody may do anything. */
  readonly permissions?: { readonly [subject: string]: GrantConfig }
  /** Whether undeclared properties are stored and returned. Default false: they are faults. */
  readonly additionalProperties?: boolean
  readonly indexes?: readonly (Commented & {
    readonly fields: readonly string[]
    readonly unique?: boolean
  })[]
}

export interface AuthConfig extends Commented {
  /** The unique string field of `users` that names an account. */
  readonly identifier?: string
  /** The hash field of `users`. */
  readonly secret?: string
  /** The field of `users` that holds the role. Default: none. */
  readonly roleField?: string
  /** Whether strangers may register. Default true. */
  readonly register?: boolean
  /** Default 30. */
  readonly sessionDays?: number
  /** bcrypt's cost, 10 to 15. Default 12. */
  readonly cost?: number
}

export interface Limits {
  /** Documents of a list that names no limit. Default: `maxLimit`. */
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
  /** Documents of a bulk create. Default 100. */
  readonly bulk: number
  /** Seconds from the request to the first byte of its answer. Default 10. */
  readonly requestSeconds: number
}

/**
 * The whole configuration: pure JSON. Among the names of `collections`, `schema`, `properties` and
 * `permissions` a `$comment` may stand too, which an index signature cannot say: `defineConfig` takes it.
 */
export interface Config extends Commented {
  readonly $schema?: string
  readonly collections: { readonly [name: string]: CollectionConfig }
  readonly auth?: AuthConfig
  readonly limits?: Partial<Limits> & Commented
}

/** Who asks: `null` is an anonymous caller. */
export interface Caller {
  readonly id: string
  readonly roles?: readonly string[]
  readonly [field: string]: unknown
}

/** A document as a caller may read it. */
export type Document = { readonly _id: string } & JsonObject

export interface Logger {
  info(message: string, details?: JsonObject): void
  warn(message: string, details?: JsonObject): void
  error(message: string, details?: JsonObject): void
}

/** Turns secrets into hashes. `verify` is false for a hash that it cannot read. */
export interface Hasher {
  hash(secret: string, signal?: AbortSignal): Promise<string>
  verify(secret: string, hash: string, signal?: AbortSignal): Promise<boolean>
}

export interface ServiceOptions {
  /** The host's own accounts: who sends this request. A fault in it, or a caller without a string `id`, is a 500. */
  readonly authenticate?: (request: Request) => Caller | null | Promise<Caller | null>
  /** With `authenticate`: keep the service's own accounts too. Default false. */
  readonly accounts?: boolean
  /** Default `""`: the routes begin at `/`. */
  readonly basePath?: string
  /** Default: no other origin may read answers. */
  readonly cors?: { readonly origins: readonly string[] | '*' }
  /**
   * Where a request comes from, for the throttle of logins. Default: the socket's address under the Node mount. Where
   * nobody says it, guesses count for an identifier from anywhere alone.
   */
  readonly clientAddress?: (request: Request) => string | null | undefined
  /** Default: bcrypt at `auth.cost`, one hash at a time. */
  readonly hasher?: Hasher
  /** Default: the console for `warn` and `error`. */
  readonly logger?: Partial<Logger>
  /** Whether open doors are errors rather than warnings. Default: `NODE_ENV` is `production`. */
  readonly production?: boolean
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
}

/** The service as a function of a web-standard request. It never rejects and never throws. */
export interface Handler<C = unknown> {
  // Frameworks pass up to two arguments of their own behind the request. With more the handler would pass for an error
  // handler of Express and Connect, whose first argument is `any`: only `toNodeHandler` makes one for node.
  // biome-ignore lint/suspicious/noExplicitAny: they may be of any type
  (request: Request, second?: any, third?: any, ...none: readonly undefined[]): Promise<Response>
  /** Opens the storage, once. Rejects with the cause. A request does the same and answers 503. */
  ready(): Promise<void>
  /** Ends requests in flight, then the adapter. */
  close(): Promise<void>
  /** The same service for a caller on the host's word: it ignores `Authorization` and has no `/auth` routes. */
  as(caller: Caller | null): Handler<C>
  /** For the compiler alone: the type of the configuration, by which clients know collections and documents. */
  readonly '~config'?: C
}
