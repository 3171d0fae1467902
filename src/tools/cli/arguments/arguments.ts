import type { AnyHooks } from '../../../core/hooks/types.js'
import type { TemplateName } from '../commands/templates.js'
import type { Format, Word } from './options.js'

/** The commands that a command line can begin with; serving needs none. */
export type NamedWord = Exclude<Word, 'serve'>

/** A storage that outlasts the process. */
export type StorageArguments =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'database'; readonly url: string; readonly schema?: string }

/** The service to run, and its address. */
export interface ServeArguments {
  readonly config: string
  readonly port: number
  readonly host: string
  readonly watch: boolean
  /** The number of processes. */
  readonly processes: number
  readonly cors: readonly string[]
  readonly seed: string | undefined
  /** Default: the admin UI is served too. */
  readonly hidesPage?: boolean
  /** A module, or `console`. Default: no delivery. */
  readonly deliver?: string
  /** Default: in memory. */
  readonly storage?: StorageArguments
}

/** The user, the role or verification, and the storage of a grant. */
export interface GrantArguments {
  readonly config: string
  readonly identifier: string
  /** Default: none, if the user is verified. */
  readonly role: string | undefined
  readonly isVerified: boolean
  readonly storage: StorageArguments
}

/** The configuration whose types to print, and their file. */
export interface TypesArguments {
  readonly config: string
  /** Default: the terminal. */
  readonly out: string | undefined
  /** The fields that hooks of the service fill. Default: none. */
  readonly hooks?: AnyHooks
}

/** The template to write, and its folder. */
export interface InitArguments {
  readonly template: TemplateName
  readonly folder: string
}

/** The json-server file to read, and the folder for the result. */
export interface ImportArguments {
  readonly file: string
  readonly folder: string
}

/** The arguments that all insight commands share. */
export interface InsightArguments {
  readonly format: Format
  /** Whether the host names the caller. */
  readonly authenticate: boolean
  readonly production: boolean
  /** The fields that hooks of the service fill. Default: none. */
  readonly hooks?: AnyHooks
}

/** The configuration to check, and the stored documents to check with it. */
export interface CheckArguments extends InsightArguments {
  readonly config: string
  readonly storage?: StorageArguments
}

/** The configuration whose permissions to print. */
export interface MatrixArguments extends InsightArguments {
  readonly config: string
}

/** The configurations to compare. */
export interface DiffArguments extends InsightArguments {
  readonly before: string
  readonly after: string
  /** Whether any difference but a narrowing is a failure. */
  readonly failsOnWidening: boolean
}

/** The request to explain, and its caller. */
export interface ExplainArguments extends InsightArguments {
  readonly config: string
  readonly method: string
  /** May hold a query. */
  readonly path: string
  /** Default: anonymous. */
  readonly caller: string | undefined
  /** JSON, or a file of it. */
  readonly body: string | undefined
  /** Each as in HTTP: a name, a colon, a value. */
  readonly headers: readonly string[]
  /** A file of stored documents. Default: none. */
  readonly seed: string | undefined
  /** A timestamp. Default: now. */
  readonly now: string | undefined
}

/** The configuration to describe, and the caller. */
export interface OpenapiArguments extends InsightArguments {
  readonly config: string
  /** Default: everything is described. */
  readonly caller: string | undefined
}

/** A parsed command line. */
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
