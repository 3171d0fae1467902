import type { AnyHooks } from '../../../core/hooks/types.js'
import type { TemplateName } from '../commands/templates.js'
import type { Format, Word } from './options.js'

/** The words with which a command line selects a command. Serving needs no word. */
export type NamedWord = Exclude<Word, 'serve'>

/** A storage that keeps its documents when the process ends: a SQLite file or a PostgreSQL database. */
export type StorageArguments =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'database'; readonly url: string; readonly schema?: string }

/** The arguments of serving: the service, its storage and its address. */
export interface ServeArguments {
  readonly config: string
  readonly port: number
  readonly host: string
  readonly watch: boolean
  /** The number of processes that serve. */
  readonly processes: number
  readonly cors: readonly string[]
  readonly seed: string | undefined
  /** Whether the admin UI is not served. Default: false. */
  readonly hidesPage?: boolean
  /** The module that delivers tokens, or `console`. Default: tokens are not delivered. */
  readonly deliver?: string
  /** Default: documents are stored in memory. */
  readonly storage?: StorageArguments
}

/** The arguments of `grant`: the user, what the user gets, and the storage. */
export interface GrantArguments {
  readonly config: string
  readonly identifier: string
  /** The role to give. It may be missing if `isVerified` is true. */
  readonly role: string | undefined
  readonly isVerified: boolean
  readonly storage: StorageArguments
}

/** The arguments of `types`: the configuration, and the file for its types. */
export interface TypesArguments {
  readonly config: string
  /** The file for the types. Default: they are printed on the terminal. */
  readonly out: string | undefined
  /** Hooks that declare the fields in `--fills`. Default: none. */
  readonly hooks?: AnyHooks
}

/** The arguments of `init`: the template, and the folder for its files. */
export interface InitArguments {
  readonly template: TemplateName
  readonly folder: string
}

/** The arguments of `import`: the file to convert, and the folder for the result. */
export interface ImportArguments {
  readonly file: string
  readonly folder: string
}

/** The arguments that all commands which explain a configuration have in common. */
export interface InsightArguments {
  readonly format: Format
  /** Whether the service runs with `options.authenticate`, so that the host identifies the callers. */
  readonly authenticate: boolean
  readonly production: boolean
  /** Hooks that declare the fields in `--fills`. Default: none. */
  readonly hooks?: AnyHooks
}

/** The arguments of `check`: the configuration, and optionally the storage whose documents are checked too. */
export interface CheckArguments extends InsightArguments {
  readonly config: string
  readonly storage?: StorageArguments
}

/** The arguments of `matrix`: the configuration whose permissions are printed. */
export interface MatrixArguments extends InsightArguments {
  readonly config: string
}

/** The arguments of `diff`: the two configurations to compare. */
export interface DiffArguments extends InsightArguments {
  readonly before: string
  readonly after: string
  /** Whether the command fails if there is any difference other than a narrowing. */
  readonly failsOnWidening: boolean
}

/** The arguments of `explain`: the request, its caller, and the state of the service. */
export interface ExplainArguments extends InsightArguments {
  readonly config: string
  readonly method: string
  /** The path of the request. It may contain a query. */
  readonly path: string
  /** The value of `--caller`. Default: anonymous. */
  readonly caller: string | undefined
  /** JSON, or the name of a JSON file. */
  readonly body: string | undefined
  /** Headers in the form of HTTP: a name, a colon and a value. */
  readonly headers: readonly string[]
  /** The file with the stored documents. Default: there are no documents. */
  readonly seed: string | undefined
  /** The time of the request, a timestamp. Default: now. */
  readonly now: string | undefined
}

/** The arguments of `openapi`: the configuration, and the caller for whom its API is described. */
export interface OpenapiArguments extends InsightArguments {
  readonly config: string
  /** The value of `--caller`. Default: the document describes all operations. */
  readonly caller: string | undefined
}

export type Arguments =
  | ({ readonly word: 'serve' } & ServeArguments)
  | ({ readonly word: 'grant' } & GrantArguments)
  | ({ readonly word: 'types' } & TypesArguments)
  | ({ readonly word: 'init' } & InitArguments)
  | ({ readonly word: 'import' } & ImportArguments)
  | ({ readonly word: 'check' } & CheckArguments)
  | ({ readonly word: 'matrix' } & MatrixArguments)
  | ({ readonly word: 'diff' } & DiffArguments)
  | ({ readonly word: 'explain' } & ExplainArguments)
  | ({ readonly word: 'openapi' } & OpenapiArguments)
  | { readonly word: 'help'; readonly of: NamedWord | undefined }
  | { readonly word: 'version' }
